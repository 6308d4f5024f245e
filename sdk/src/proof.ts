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
import type { SignatureAlgorithm, SignatureVerifier } from '@cairn/tlog'
import { toBase64url } from '@cairn/wire'

/*
 * Signatures checked by the Web Crypto of a browser or of Node, which answers later, for code that asks at once.
 *
 *     examine ─▶ asks for signatures, every unknown one taken for good ─▶ check those ─▶ examine again ─▶ …
 *
 * The last round asks for nothing unknown, so nothing in its outcome was taken for good unseen.
 */

type SignatureQuery = Parameters<SignatureVerifier['verify']>

/** How Web Crypto calls them, and the form it takes a public key in. */
const ALGORITHMS = {
  ed25519: { name: 'Ed25519', format: 'raw' },
  'ml-dsa-44': { name: 'ML-DSA-44', format: 'raw-public' },
} as const satisfies Record<SignatureAlgorithm, { name: string; format: string }>

/** The outcome of `examine`, which has no effects and may run several times. */
async function withSignatures<T>(examine: (verifier: SignatureVerifier) => T): Promise<T> {
  const known = new Map<string, boolean>()
  for (;;) {
    const unknown = new Map<string, SignatureQuery>()
    const outcome = examine({
      verify: (...question) => {
        const key = keyOf(question)
        const answer = known.get(key)
        if (answer === undefined) unknown.set(key, question)
        return answer ?? true
      },
    })
    if (unknown.size === 0) return outcome
    for (const [key, question] of unknown) known.set(key, await isGood(question))
  }
}

function keyOf([algorithm, ...parts]: SignatureQuery): string {
  return [algorithm, ...parts.map(toBase64url)].join('.')
}

async function isGood([algorithm, publicKey, message, signature]: SignatureQuery): Promise<boolean> {
  const { name, format } = ALGORITHMS[algorithm]
  try {
    // The names of newer formats are not in the library's types yet.
    const key = await crypto.subtle.importKey(format as 'raw', owned(publicKey), { name }, false, ['verify'])
    return await crypto.subtle.verify({ name }, key, owned(signature), owned(message))
  } catch {
    // A key or a signature of a wrong shape, or an algorithm that this browser does not have: not verified.
    return false
  }
}

function owned(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes)
}

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
    throw new CairnError('Integrity', `No trusted key vouches for ${name}: give a trust file or a pin.`, {
      code: 'no_trust',
    })
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
