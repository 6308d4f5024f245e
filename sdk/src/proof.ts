/** Proofs of names, checked here: whoever sent them is not believed. */
import { CairnError } from '@cairn/kernel'
import {
  type Finding,
  type Pin,
  type Proof,
  parseProof,
  type TrustFile,
  type Verdict,
  type VerifyOptions,
  verifyProof,
} from '@cairn/names'
import { withSignatures } from './verifier.ts'

/** Whom to believe: a trust file, what was seen of the log before, or both. */
export interface Belief {
  readonly trust?: TrustFile | undefined
  /** What an earlier verdict said to remember; a log that shows less or something else is refused. */
  readonly pin?: Pin | undefined
  /** Refuse a checkpoint older than this. */
  readonly maxCheckpointAgeMs?: number | undefined
}

export type NameFinding = Extract<Finding, { type: 'name' }>

/** What a proof file is worth, at this time. Throws nothing for what is in it. */
export async function judgeProof(bytes: Uint8Array, belief: Belief, now: number): Promise<Verdict> {
  const proof = parsed(bytes)
  if (proof === undefined) return { kind: 'refused', code: 'malformed', detail: 'The bytes are not a proof file.' }
  const { trust, pin, maxCheckpointAgeMs } = belief
  const options: VerifyOptions = {
    now,
    ...(pin === undefined ? {} : { pin }),
    ...(maxCheckpointAgeMs === undefined ? {} : { maxCheckpointAgeMs }),
  }
  return await withSignatures((verifier) => verifyProof(proof, trust, verifier, options))
}

/** What the proof says about the name, and what to remember; `Integrity` unless it is verified. */
export async function provenName(
  bytes: Uint8Array,
  name: string,
  belief: Belief,
  now: number,
): Promise<{ readonly finding: NameFinding; readonly pin: Pin }> {
  const verdict = await judgeProof(bytes, belief, now)
  if (verdict.kind === 'refused')
    throw new CairnError('Integrity', `The proof of ${name} is refused: ${verdict.detail}`, { code: verdict.code })
  if (verdict.kind === 'consistent')
    throw new CairnError('Integrity', `Nobody vouches for ${name}: give a trust file or a pin.`, { code: 'no_trust' })
  const { finding, pin } = verdict
  if (finding.type !== 'name' || finding.name !== name)
    throw new CairnError('Integrity', `The proof is not about ${name}.`, { code: 'wrong_subject' })
  return { finding, pin }
}

function parsed(bytes: Uint8Array): Proof | undefined {
  try {
    return parseProof(bytes)
  } catch (error) {
    if (error instanceof CairnError) return undefined
    throw error
  }
}
