import { ENVIRONMENT, playStory } from './story.ts'
import { oneProcess } from './town.ts'

playStory((town) => oneProcess(town, ENVIRONMENT))
