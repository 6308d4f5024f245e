/** Signing a proposal with a key file, in this page: the key is read, used once and forgotten. */

import {
  type ApprovalRequest,
  type Payload,
  parsePayload,
  parseSignerKey,
  payloadHash,
  signingInput,
} from '@cairn/names'
import type { Registry } from '@cairn/sdk'
import { fromBase64url, parseJson, toBase64url } from '@cairn/wire'

/** What comes before a 32-byte seed in PKCS #8 (RFC 8410). */
const SEED_PREFIX = Uint8Array.from([48, 46, 2, 1, 0, 48, 5, 6, 3, 43, 101, 112, 4, 34, 4, 32])

/** What a signer signs: made here from the payload that the page shows, never taken from the node. */
async function inputOf(registry: Registry, id: string, seen: Payload): Promise<Uint8Array> {
  const open = await registry.proposal(id)
  if (open.status === 'committed') throw new Error('This proposal is committed already; it takes no more approvals.')
  const hash = payloadHash(parsePayload(parseJson(new TextEncoder().encode(JSON.stringify(seen)))))
  if (hash !== open.proposal.payload_b3)
    throw new Error('The proposal is not the one this page shows. Nothing was signed.')
  const { origin, genesis } = await registry.trust()
  return signingInput({ origin, genesis }, open.proposal)
}

export interface SignRequest {
  readonly registry: Registry
  readonly id: string
  /** As the page shows it. */
  readonly payload: Payload
  readonly missing: readonly string[]
}

export async function sign(
  file: Uint8Array,
  { registry, id, payload, missing }: SignRequest,
): Promise<ApprovalRequest> {
  const { signer, seed } = parseSignerKey(file)
  if (!missing.includes(signer.id))
    throw new Error(`This is the key of ${signer.id}, which is not asked for; ${missing.join(', ')} can sign.`)
  if (signer.algo !== 'ed25519')
    throw new Error(`This page signs with Ed25519 keys; sign as ${signer.id} with the command line.`)
  const message = Uint8Array.from(await inputOf(registry, id, payload))
  const secret = await crypto.subtle.importKey('pkcs8', Uint8Array.from([...SEED_PREFIX, ...seed]), 'Ed25519', false, [
    'sign',
  ])
  const sig = new Uint8Array(await crypto.subtle.sign('Ed25519', secret, message))
  const half = await crypto.subtle.importKey('raw', Uint8Array.from(fromBase64url(signer.key)), 'Ed25519', false, [
    'verify',
  ])
  if (!(await crypto.subtle.verify('Ed25519', half, sig, message)))
    throw new Error('The two halves of this key do not belong together; restore the file from a backup.')
  return { signer_id: signer.id, sig: toBase64url(sig) }
}
