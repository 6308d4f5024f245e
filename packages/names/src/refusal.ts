/** Every way the registry's rules refuse what is well formed: one code each, which never changes its meaning. */

export const REFUSALS = {
  expired: 'The proposal has expired.',
  not_a_signer: 'The signer is in no signer set of this registry.',
  revoked_key: 'The key was in an earlier signer set and is no longer in the one in force.',
  stale_signer_set: 'The proposal was made for a signer set that is no longer in force.',
  duplicate_approval: 'This key has approved this proposal already.',
  invalid_sig: "The signature is not the signer's over the signing input of this proposal in this log.",
  quorum_failed: 'Fewer than m signers have approved, or a new key has not signed.',
  head_moved: 'The proposal supersedes a HEAD that is no longer HEAD.',
  release_fixed: 'The name is a release, whose meaning is never changed and never removed.',
  chain_mismatch: 'An item has changed since the proposal was made.',
} as const satisfies Record<string, string>

export type RefusalCode = keyof typeof REFUSALS

/** A decision against: the code for programs, the sentence for people. */
export interface RegistryRefusal {
  readonly kind: 'refused'
  readonly code: RefusalCode
  readonly detail: string
}

export function refused(code: RefusalCode, detail: string): RegistryRefusal {
  return { kind: 'refused', code, detail }
}
