/** What a check of a proof can end with: exactly what was checked, what was not, and why a proof is refused. */
import { CairnError } from '@cairn/kernel'
import type { Artifact, Head } from './artifact.ts'
import type { NameItem } from './item.ts'
import type { Pin } from './trust.ts'

/** One question a check answers or leaves open, and the sentence for people. */
export interface Check {
  readonly check:
    | 'checkpoint_signature'
    | 'witnesses'
    | 'age'
    | 'pin'
    | 'genesis'
    | 'inclusion'
    | 'signer_sets'
    | 'approvals'
    | 'state'
    | 'current_head'
    | 'fold'
  readonly detail: string
}

/** What the proof says, once believed. */
export type Finding =
  | { readonly type: 'version'; readonly artifact: Artifact; readonly head: Head }
  | { readonly type: 'name'; readonly name: string; readonly item: NameItem | null; readonly head: Head }

interface ExaminedProof {
  readonly origin: string
  readonly finding: Finding
  readonly checked: readonly Check[]
  readonly unchecked: readonly Check[]
}

/**
 * `verified`: true if the trust file, or the pin, is right. `consistent`: the file agrees with itself and with nothing
 * else; anyone could have made it. `refused`: it is not a proof of anything.
 */
export type Verdict =
  | (ExaminedProof & {
      readonly kind: 'verified'
      /** How many of the witnesses that the policy names have cosigned; 0 of 0 without a policy. */
      readonly cosigned: { readonly count: number; readonly of: number }
      /** What the reader should remember from now on. */
      readonly pin: Pin
    })
  | (ExaminedProof & { readonly kind: 'consistent' })
  | { readonly kind: 'refused'; readonly code: ProofRefusalCode; readonly detail: string }

export const PROOF_REFUSALS = {
  malformed: 'A part of the proof has not the form it must have.',
  other_origin: 'The checkpoint, or the pin, is of another log than the trust file names.',
  other_genesis: 'The chain begins with another genesis than the one trusted, or the origin does not belong to it.',
  checkpoint_signature: "A signature that must be on the checkpoint is missing or wrong, the log's or a witness's.",
  witnesses: 'Fewer witnesses have cosigned than the policy asks for.',
  no_timestamp: 'An age limit was given, but no key of the log has stated the time of this checkpoint.',
  too_old: 'The checkpoint is older than the limit.',
  from_the_future: 'The checkpoint states a time that has not come yet.',
  release_changed: 'A name that was a release is given another meaning, or removed.',
  older_than_pin: 'The checkpoint is smaller than one already seen.',
  consistency_missing: 'The checkpoint is larger than the pinned one, and nothing shows that it continues it.',
  forked: 'The checkpoint contradicts the pinned one: the log has shown two histories.',
  not_included: 'A commit or the last leaf is not where the proof says in the tree of the checkpoint.',
  wrong_order: 'The commits are not in ascending order of version and place, or do not chain.',
  missing_signer_set_link: 'A change of signers is missing: a commit belongs to a set that the chain does not lead to.',
  not_approved: 'A commit lacks the approvals of the signer set in force at its version.',
  wrong_subject: 'The proof is about another version than it says.',
  not_current: 'The last leaf of the checkpoint says that another version is HEAD.',
  state_proof: 'The state root does not prove the item, or its absence.',
  item_not_approved: 'No commit in the proof has set the item.',
} as const satisfies Record<string, string>

export type ProofRefusalCode = keyof typeof PROOF_REFUSALS

/** Ends a check: thrown below `verifyProof`, which turns it into a verdict. */
export function proofRefused(code: ProofRefusalCode, detail: string, cause?: unknown): CairnError {
  return new CairnError('Integrity', detail, { code, ...(cause === undefined ? {} : { cause }) })
}

/** Runs one step; whatever one of ours it throws is this refusal. */
export function expecting<Result>(code: ProofRefusalCode, step: () => Result): Result {
  try {
    return step()
  } catch (error) {
    if (error instanceof CairnError && error.kind !== 'Internal') throw proofRefused(code, error.message, error)
    throw error
  }
}

export function verdictOf(error: unknown): Verdict {
  if (!(error instanceof CairnError) || error.kind === 'Internal') throw error
  const { code, message: detail } = error
  return { kind: 'refused', code: isProofRefusalCode(code) ? code : 'malformed', detail }
}

const isProofRefusalCode = (code: string): code is ProofRefusalCode => Object.hasOwn(PROOF_REFUSALS, code)
