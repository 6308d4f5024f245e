/** What the verifiers share: one header, one signature, one time, one key. All of it total: bad input is an answer. */
import type { Crypto } from '@cairn/platform'
import { addressOf } from '@cairn/wire'
import type { RefusedVerification, WebhookRequest } from './provider.ts'
import { activeKeys, type SecretKey } from './secret.ts'

/** How far a signed time may be from ours, to both sides. */
const WINDOW_MS = 300_000
const HOUR_MS = 3_600_000
/** Senders go on trying for up to three days. */
const REPLAY_MARGIN_MS = 72 * HOUR_MS
/** How long a body without time or id is remembered, where its secret has no end. */
const REPLAY_WITHOUT_END_MS = 90 * 24 * HOUR_MS
/** A header may carry a few signatures while secrets rotate; each costs a comparison. */
export const SIGNATURES_MAX = 16

export function refused(reason: RefusedVerification['reason'], detail: string): RefusedVerification {
  return { tag: 'refused', reason, detail }
}

export const unauthorized = (detail: string): RefusedVerification => refused('UNAUTH', detail)
export const malformed = (detail: string): RefusedVerification => refused('MALFORMED', detail)

/** The value of a header that may be there once: two of them are two answers to one question. */
export function oneHeader({ headers }: WebhookRequest, name: string): string | undefined | RefusedVerification {
  let found: string | undefined
  for (const [header, value] of headers) {
    if (header !== name) continue
    if (found !== undefined) return malformed(`The header ${name} is there more than once.`)
    found = value
  }
  return found
}

/** The value of a header without which there is nothing to verify. */
export function neededHeader(request: WebhookRequest, name: string): string | RefusedVerification {
  return oneHeader(request, name) ?? unauthorized(`The header ${name} is missing.`)
}

/** The 32 (or so many) bytes that lowercase hexadecimal spells, nothing else. */
export function fromHex(text: string, length: number): Uint8Array | undefined {
  if (text.length !== 2 * length || !/^[0-9a-f]*$/.test(text)) return undefined
  return Buffer.from(text, 'hex')
}

/** The bytes that padded base64 spells, in the one spelling they have. */
export function fromBase64(text: string): Uint8Array | undefined {
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : undefined
}

/** Unix seconds as senders write them: digits, no sign, no leading zero. */
export function unixSeconds(text: string): number | undefined {
  return /^[1-9]\d{0,11}$/.test(text) ? Number(text) : undefined
}

/** Why a signed time is not good now; undefined if it is. */
export function outsideWindow(signedMs: number, nowMs: number): RefusedVerification | undefined {
  if (Math.abs(nowMs - signedMs) <= WINDOW_MS) return undefined
  const side = signedMs < nowMs ? 'in the past' : 'in the future'
  return refused('POLICY_BLOCKED', `The signed time is more than ${WINDOW_MS / 1000} s ${side}; compare the clocks.`)
}

/** The key one of whose signatures this is. All keys and signatures are tried, found or not, so that time tells nothing. */
export function signingKey<K extends SecretKey>(
  keys: readonly K[],
  nowMs: number,
  fits: (key: K) => boolean,
): K | RefusedVerification {
  const active = activeKeys(keys, nowMs)
  if (active.length === 0) return unauthorized('No secret of this provider counts any more; configure a new one.')
  let found: K | undefined
  for (const key of active) if (fits(key)) found ??= key
  return found ?? unauthorized('The signature does not match the body.')
}

/** Whether any of the signatures is this HMAC; all are compared. */
export function anyEqual(crypto: Crypto, expected: Uint8Array, signatures: readonly Uint8Array[]): boolean {
  let equal = false
  for (const signature of signatures) if (crypto.equal(expected, signature)) equal = true
  return equal
}

export function withPrefix(prefix: string, body: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from(prefix), body])
}

/** What a request is remembered by: its id if the signature covers one, else the hash of what it covers. */
export function replayKey(provider: string, id: string | undefined, signed: Uint8Array): string {
  return id === undefined ? `${provider}:${addressOf(signed)}` : `${provider}:id:${id}`
}

/** A replay with a signed time is refused by its time once it is old; what is kept past that is for honest retries. */
export function keepTimed(signedMs: number, nowMs: number): number {
  return Math.max(signedMs, nowMs) + WINDOW_MS + REPLAY_MARGIN_MS
}

/** A replay without a signed time stays good as long as any secret it may be signed with. */
export function keepUntimed(keys: readonly SecretKey[], nowMs: number): number {
  const ends = activeKeys(keys, nowMs).map(({ secret: { notAfterMs } }) => {
    return notAfterMs === undefined ? nowMs + REPLAY_WITHOUT_END_MS : notAfterMs + REPLAY_MARGIN_MS
  })
  return Math.max(...ends)
}

/** Ids and event names as they may stand in keys, rules and logs; what is not of this form counts as absent. */
export function plainText(value: unknown): string | undefined {
  return typeof value === 'string' && /^[\x21-\x7e]{1,200}$/.test(value) ? value : undefined
}

export const UNKNOWN_EVENT = 'unknown'
