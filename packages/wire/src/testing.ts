/** What tests and tools use and the product does not. */
export { keyedBlake3 } from './blake3/hash.ts'
export { type KeyringKey } from './keyring.ts'
export { parseEntityTags } from './preconditions.ts'
