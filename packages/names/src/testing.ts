/** What tests and tools use and the product does not. */
export { type NameProof, type VersionProof } from './proof.ts'
export { REFUSALS } from './refusal.ts'
export { type ProofRefusalCode } from './verdict.ts'
