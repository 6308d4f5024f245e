/** What tests and tools use and the product does not. */
export { encode, reconstruct, type ShardsWithHoles, verify } from './code.ts'
