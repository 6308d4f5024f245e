/** What tests and tools use and the product does not. */
export type { FindOptions } from './provider-routing.ts'
export { RECORD_TTL_MS, signRecord, verifyRecord } from './record.ts'
