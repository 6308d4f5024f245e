/** What tests and tools use and the product does not. */
export { nodeClient } from './node-client.ts'
