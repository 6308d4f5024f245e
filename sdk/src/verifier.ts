/**
 * Signatures checked by the Web Crypto of a browser or of Node, which answers later, for code that asks at once.
 *
 *     examine ─▶ asks for signatures, every unknown one taken for good ─▶ check those ─▶ examine again ─▶ …
 *
 * The last round asks for nothing unknown, so nothing in its outcome was taken for good unseen.
 */
import type { SignatureAlgorithm, SignatureVerifier } from '@cairn/tlog'
import { toBase64url } from '@cairn/wire'

type Question = Parameters<SignatureVerifier['verify']>

/** How Web Crypto calls them, and the form it takes a public key in. */
const ALGORITHMS = {
  ed25519: { name: 'Ed25519', format: 'raw' },
  'ml-dsa-44': { name: 'ML-DSA-44', format: 'raw-public' },
} as const satisfies Record<SignatureAlgorithm, { name: string; format: string }>

/** The outcome of `examine`, which has no effects and may run several times. */
export async function withSignatures<T>(examine: (verifier: SignatureVerifier) => T): Promise<T> {
  const known = new Map<string, boolean>()
  for (;;) {
    const unknown = new Map<string, Question>()
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

function keyOf([algorithm, ...parts]: Question): string {
  return [algorithm, ...parts.map(toBase64url)].join('.')
}

async function isGood([algorithm, publicKey, message, signature]: Question): Promise<boolean> {
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
