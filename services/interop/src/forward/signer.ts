/** Signs what goes out as Standard Webhooks do: `webhook-id`, `webhook-timestamp`, `webhook-signature: v1,… v1,…`. */
import { CairnError } from '@cairn/kernel'
import type { Crypto } from '@cairn/platform'
import { activeKeys, type Key, type Secret } from '../providers/secret.ts'
import { withPrefix } from '../providers/signature.ts'
import { symmetricKey } from '../providers/standard.ts'

export class WebhookSigner {
  readonly #crypto: Crypto
  readonly #keys: readonly Key[]

  /** Throws `Malformed` where there is no secret, or one that is not `whsec_` and base64. */
  constructor(crypto: Crypto, secrets: readonly Secret[]) {
    if (secrets.length === 0) throw unsigned()
    this.#crypto = crypto
    this.#keys = secrets.map(symmetricKey)
  }

  /** The three headers for this body, signed with every secret that counts now. */
  sign(id: string, body: Uint8Array, nowMs: number): Readonly<Record<string, string>> {
    const keys = activeKeys(this.#keys, nowMs)
    if (keys.length === 0) throw unsigned()
    const time = String(Math.floor(nowMs / 1000))
    const signed = withPrefix(`${id}.${time}.`, body)
    const signatures = keys.map(({ bytes }) => {
      return `v1,${Buffer.from(this.#crypto.hmacSha256(bytes, signed)).toString('base64')}`
    })
    return { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': signatures.join(' ') }
  }
}

function unsigned(): CairnError {
  return new CairnError('Malformed', 'There is no secret to sign forwards with; set interop.forward.secrets.')
}
