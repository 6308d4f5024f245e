export { renderCommands } from './help.ts'
