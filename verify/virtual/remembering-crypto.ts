/**
 * The machine's cryptography for one world. Everybody in it is asked about the same few keys and signatures again and
 * again: what was computed once is not computed again, whoever asks. Nothing of it can be seen but the time it takes.
 */
import { GenerationCache } from '@cairn/kernel'
import { type Crypto, type Sign, systemCrypto } from '@cairn/platform'

/** Keys and signatures that are remembered; a seed has a few hundred. */
const RECENT_MAX = 2048

export function rememberingCrypto(): Crypto {
  const verdicts = new GenerationCache<boolean>(RECENT_MAX)
  const publicKeys = new GenerationCache<Uint8Array>(RECENT_MAX)
  const signers = new GenerationCache<Sign>(RECENT_MAX)
  const verify: Crypto['verify'] = (algorithm, publicKey, message, signature) =>
    remembered(verdicts, [algorithm, keyOf(publicKey), keyOf(signature), keyOf(message)], () =>
      systemCrypto.verify(algorithm, publicKey, message, signature),
    )
  return {
    ...systemCrypto,
    verify,
    ed25519Verify: (publicKey, message, signature) => verify('ed25519', publicKey, message, signature),
    mlDsa44Verify: (publicKey, message, signature) => verify('ml-dsa-44', publicKey, message, signature),
    // A copy each, as everybody gets one of their own from the machine.
    ed25519PublicKey: (seed) =>
      Buffer.from(remembered(publicKeys, ['ed25519', keyOf(seed)], () => systemCrypto.ed25519PublicKey(seed))),
    mlDsa44PublicKey: (seed) =>
      Buffer.from(remembered(publicKeys, ['ml-dsa-44', keyOf(seed)], () => systemCrypto.mlDsa44PublicKey(seed))),
    ed25519Signer: (seed) => remembered(signers, ['ed25519', keyOf(seed)], () => systemCrypto.ed25519Signer(seed)),
    mlDsa44Signer: (seed) => remembered(signers, ['ml-dsa-44', keyOf(seed)], () => systemCrypto.mlDsa44Signer(seed)),
  }
}

function remembered<V>(recent: GenerationCache<V>, parts: readonly string[], compute: () => V): V {
  const key = parts.join()
  const known = recent.get(key)
  if (known !== undefined) return known
  const value = compute()
  recent.add(key, value)
  return value
}

/** Tells any two from each other, and from those that others follow: its length comes first. */
function keyOf({ buffer, byteOffset, length }: Uint8Array): string {
  return `${length} ${Buffer.from(buffer, byteOffset, length).toString('latin1')}`
}
