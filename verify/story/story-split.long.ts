/** The same story with every service in a process of its own. */
import { fiveProcesses } from './five-processes.ts'
import { ENVIRONMENT, playStory } from './story.ts'

playStory((testbed) => fiveProcesses(testbed, ENVIRONMENT))
