/** Whether the checkpoint of a proof is one to believe: whose it is, who has seen it, how old it is, what it continues. */
import {
  type Checkpoint,
  type OpenedCheckpoint,
  openCheckpoint,
  type SignatureVerifier,
  type VerifiedSignature,
  verifyConsistency,
} from '@cairn/tlog'
import type { Consistency } from './proof.ts'
import type { Pin, TrustFile } from './trust.ts'
import { type Check, expecting, proofRefused } from './verdict.ts'

export interface VerifyOptions {
  /** Unix milliseconds. */
  readonly now: number
  /** What was seen of this log before; trusted like a trust file where none is given. */
  readonly pin?: Pin
  readonly maxCheckpointAgeMs?: number
}

/** How far another machine's clock may be ahead of ours. */
const CLOCK_SKEW_MS = 60_000

export interface CheckedCheckpoint {
  readonly cosigned: { readonly count: number; readonly of: number }
  /** Unix milliseconds at which a trusted key of the log says it signed; undefined where none says. */
  readonly signedAtMs: number | undefined
  readonly checked: readonly Check[]
  readonly unchecked: readonly Check[]
}

/** What can be said for the checkpoint; throws the refusal if it is not to be believed. */
export function verifyCheckpoint(
  note: Uint8Array,
  consistency: Consistency | undefined,
  trust: TrustFile,
  verifier: SignatureVerifier,
  options: VerifyOptions,
): CheckedCheckpoint {
  const witnesses = trust.witnesses?.keys ?? []
  const logTrust = { origin: trust.origin, logKeys: trust.logKeys, cosignerKeys: witnesses }
  const opened = expecting('checkpoint_signature', () => openCheckpoint(note, logTrust, verifier))
  const cosigned = { count: opened.cosignatures.length, of: witnesses.length }
  const steps = [
    verifyLogSignatures(opened, trust),
    verifyWitnesses(cosigned, trust),
    verifyAge(opened.logSignatures, options),
    verifyPin(opened.checkpoint, consistency, options.pin),
  ]
  const [checked, unchecked] = [steps.filter(({ done }) => done), steps.filter(({ done }) => !done)]
  return {
    cosigned,
    signedAtMs: signedAtMs(opened.logSignatures),
    checked: checked.map(({ check }) => check),
    unchecked: unchecked.map(({ check }) => check),
  }
}

interface CheckStep {
  readonly done: boolean
  readonly check: Check
}

function step(done: boolean, check: Check['check'], detail: string): CheckStep {
  return { done, check: { check, detail } }
}

/** Tells what the log signed with; of each kind of key that is trusted one has to be among them. */
function verifyLogSignatures({ checkpoint, logSignatures }: OpenedCheckpoint, trust: TrustFile): CheckStep {
  for (const type of ['ed25519', 'ed25519-cosignature', 'ml-dsa-44-cosignature'] as const) {
    const isAsked = trust.logKeys.some((key) => key.type === type)
    if (isAsked && !logSignatures.some(({ key }) => key.type === type)) {
      const code = type === 'ed25519-cosignature' ? 'no_timestamp' : 'checkpoint_signature'
      throw proofRefused(code, `The checkpoint lacks the log's signature of type ${type}.`)
    }
  }
  const names = [...new Set(logSignatures.map(({ key }) => `${key.name} (${key.type})`))]
  const detail = `${checkpoint.origin} signed the checkpoint of size ${checkpoint.size}: ${names.join(', ')}.`
  return step(true, 'checkpoint_signature', detail)
}

function verifyWitnesses(cosigned: CheckedCheckpoint['cosigned'], { witnesses }: TrustFile): CheckStep {
  if (witnesses === undefined) {
    return step(false, 'witnesses', 'A split view is not excluded: the trust file has no witness policy.')
  }
  const tally = `cosigned ${cosigned.count} of ${cosigned.of}`
  if (cosigned.count >= witnesses.threshold) {
    return step(true, 'witnesses', `The checkpoint is ${tally}; the policy asks for ${witnesses.threshold}.`)
  }
  throw proofRefused('witnesses', `The checkpoint is ${tally}, but the policy asks for ${witnesses.threshold}.`)
}

function signedAtMs(signatures: readonly VerifiedSignature[]): number | undefined {
  const seconds = Math.max(0, ...signatures.map(({ timestamp }) => timestamp ?? 0))
  return seconds === 0 ? undefined : seconds * 1000
}

function verifyAge(
  signatures: readonly VerifiedSignature[],
  { now, maxCheckpointAgeMs: limitMs }: VerifyOptions,
): CheckStep {
  if (limitMs === undefined) return step(false, 'age', 'How old the checkpoint is was not asked.')
  const signedAt = signedAtMs(signatures)
  if (signedAt === undefined)
    throw proofRefused('no_timestamp', 'No key of the log states the time of this checkpoint.')
  const ageMs = now - signedAt
  if (ageMs < -CLOCK_SKEW_MS) {
    throw proofRefused('from_the_future', `The checkpoint is of a time ${-ageMs} ms ahead; check this machine's clock.`)
  }
  if (ageMs > limitMs)
    throw proofRefused('too_old', `The checkpoint is ${ageMs} ms old; at most ${limitMs} are allowed.`)
  return step(true, 'age', `The checkpoint is ${Math.max(0, ageMs)} ms old; at most ${limitMs} are allowed.`)
}

function verifyPin(
  { origin, size, root }: Checkpoint,
  consistency: Consistency | undefined,
  pin: Pin | undefined,
): CheckStep {
  if (pin === undefined) return step(false, 'pin', 'No earlier checkpoint of this log is known here to compare with.')
  if (pin.trust.origin !== origin) {
    throw proofRefused('other_origin', `The pin is of ${pin.trust.origin}, the checkpoint of ${origin}.`)
  }
  if (size < pin.size) {
    throw proofRefused('older_than_pin', `The checkpoint has size ${size}; one of size ${pin.size} was seen before.`)
  }
  if (size > pin.size && consistency?.from !== pin.size) {
    throw proofRefused('consistency_missing', `Ask for a consistency proof from size ${pin.size} to size ${size}.`)
  }
  const proof = size === pin.size ? [] : (consistency?.hashes ?? [])
  expecting('forked', () => {
    verifyConsistency({ from: pin.size, to: size, fromRoot: pin.root, toRoot: root, proof })
  })
  return step(true, 'pin', `The checkpoint continues the one of size ${pin.size} that was seen before.`)
}
