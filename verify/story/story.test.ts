import { ENVIRONMENT, playStory } from './story.ts'
import { oneProcess } from './testbed.ts'

playStory((testbed) => oneProcess(testbed, ENVIRONMENT))
