import type { SignatureAlgorithm, SignatureVerifier } from '@cairn/tlog'
import { equalBytes } from '@cairn/wire'

interface Checked {
  readonly algorithm: SignatureAlgorithm
  readonly publicKey: Uint8Array
  readonly message: Uint8Array
  readonly signature: Uint8Array
  readonly isGood: boolean
}

/**
 * Remembers what it checked. A request has its signature checked on its own turn; the batch it joins later asks the
 * same question and does not have to pay for it again.
 */
export class RememberedVerifier implements SignatureVerifier {
  readonly #verifier: SignatureVerifier
  readonly #checked: Checked[] = []

  constructor(verifier: SignatureVerifier) {
    this.#verifier = verifier
  }

  verify(algorithm: SignatureAlgorithm, publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
    const known = this.#checked.find(
      (each) =>
        each.algorithm === algorithm &&
        equalBytes(each.publicKey, publicKey) &&
        equalBytes(each.signature, signature) &&
        equalBytes(each.message, message),
    )
    if (known !== undefined) return known.isGood
    const isGood = this.#verifier.verify(algorithm, publicKey, message, signature)
    this.#checked.push({ algorithm, publicKey, message, signature, isGood })
    return isGood
  }
}
