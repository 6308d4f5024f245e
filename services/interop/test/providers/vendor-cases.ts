/**
 * The same generated requests for every provider: the vendor's own library signs and verifies, ours sees only bytes.
 * Where the two differ, the vendor's entry in `gaps` says so, and the cases hold it to that.
 */
import assert from 'node:assert/strict'
import { type Random } from '@cairn/kernel'
import { SeededRandom } from '@cairn/kernel/testing'
import type { ProviderName } from '../../src/providers/config.ts'
import type { WebhookProvider } from '../../src/providers/provider.ts'
import { isRefused, isVerified, opened, secret } from './opened.ts'

export type RawHeaders = readonly (readonly [string, string])[]

/** What is signed: the id is used by those who sign one outside the body. */
export interface Signing {
  readonly secret: string
  readonly id: string
  readonly body: Buffer
  readonly seconds: number
}

export interface Vendor {
  readonly provider: ProviderName
  readonly signatureHeader: string
  /** Whether a time is signed. */
  readonly isTimed: boolean
  newSecret(random: Random): string
  /** A body with this id in it, where the id is in the body. */
  newBody(random: Random, id: string): Buffer
  /** The vendor's own signature of a text. */
  sign(signing: Signing): Promise<RawHeaders>
  /** The same by `node:crypto`, for bytes that the vendor's library cannot be handed. */
  signBytes(signing: Signing): RawHeaders
  /** The vendor's verdict; what throws is a no. */
  accepts(secret: string, headers: RawHeaders, body: Buffer, nowMs: number): Promise<boolean>
  readonly gaps: {
    /** It takes a time far in the future. */
    readonly future: boolean
    /** It cannot verify an empty body. */
    readonly empty: boolean
  }
}

const KINDS = [
  'valid',
  'tampered body',
  'tampered signature',
  'tampered time',
  'old',
  'future',
  'replayed',
  'wrong secret',
  'rotated',
  'not UTF-8',
  'bytes that read the same',
  'empty',
  'duplicate header',
] as const

const KINDS_WITHOUT_TIME = KINDS.filter((kind) => kind !== 'tampered time')

type Kind = (typeof KINDS)[number]

const NOW_MS = 1_780_000_000_000
const WINDOW_S = 300

interface Scene {
  readonly vendor: Vendor
  readonly random: Random
  readonly provider: WebhookProvider
  readonly signing: Signing
  readonly nowMs: number
}

/** Runs so many cases of every kind; returns how many there were. */
export async function runCases(vendor: Vendor, perKind: number): Promise<number> {
  const random = new SeededRandom(11)
  let count = 0
  for (let round = 0; round < perKind; round += 1) {
    for (const kind of vendor.isTimed ? KINDS : KINDS_WITHOUT_TIME) {
      const signing = newSigning(vendor, random)
      const provider = opened(vendor.provider, [secret(signing.secret)])
      await CASES[kind]({ vendor, random, provider, signing, nowMs: NOW_MS })
      count += 1
    }
  }
  return count
}

function newSigning(vendor: Vendor, random: Random): Signing {
  const id = `evt_${below(random, 2 ** 48).toString(36)}`
  const offset = below(random, 2 * WINDOW_S + 1) - WINDOW_S
  return {
    secret: vendor.newSecret(random),
    id,
    body: vendor.newBody(random, id),
    seconds: NOW_MS / 1000 + offset,
  }
}

const CASES: Readonly<Record<Kind, (scene: Scene) => Promise<void>>> = {
  async valid({ vendor, provider, signing, nowMs }) {
    const { body } = signing
    const headers = await vendor.sign(signing)
    assert.ok(await vendor.accepts(signing.secret, headers, body, nowMs))
    isVerified(provider.verify({ headers, body, nowMs }))
  },

  async 'tampered body'({ vendor, random, provider, signing, nowMs }) {
    const headers = await vendor.sign(signing)
    const body = Buffer.from(signing.body)
    const at = below(random, body.length)
    body[at] = body[at]! ^ (1 << below(random, 8))
    assert.ok(!(await vendor.accepts(signing.secret, headers, body, nowMs)))
    isRefused(provider.verify({ headers, body, nowMs }), 'UNAUTH')
  },

  async 'tampered signature'({ vendor, random, provider, signing, nowMs }) {
    const { body } = signing
    const headers = changed(await vendor.sign(signing), vendor.signatureHeader, (value) => {
      // Among the characters of the signature itself, each of which is one hexadecimal or base64 digit.
      const at = value.length - 3 - below(random, 32)
      return `${value.slice(0, at)}${value[at] === '0' ? '1' : '0'}${value.slice(at + 1)}`
    })
    assert.ok(!(await vendor.accepts(signing.secret, headers, body, nowMs)))
    isRefused(provider.verify({ headers, body, nowMs }), 'UNAUTH')
  },

  async 'tampered time'({ vendor, provider, signing, nowMs }) {
    const { body, seconds } = signing
    const moved = seconds > nowMs / 1000 ? seconds - 1 : seconds + 1
    const headers = (await vendor.sign(signing)).map(
      ([name, value]) => [name, value.replace(String(seconds), String(moved))] as const,
    )
    assert.ok(!(await vendor.accepts(signing.secret, headers, body, nowMs)))
    isRefused(provider.verify({ headers, body, nowMs }), 'UNAUTH')
  },

  async old({ vendor, random, provider, signing, nowMs }) {
    const { body } = signing
    const seconds = nowMs / 1000 - WINDOW_S - 1 - below(random, 1e6)
    const headers = await vendor.sign({ ...signing, seconds })
    assert.equal(await vendor.accepts(signing.secret, headers, body, nowMs), !vendor.isTimed)
    const verification = provider.verify({ headers, body, nowMs })
    if (vendor.isTimed) isRefused(verification, 'POLICY_BLOCKED')
    else isVerified(verification)
  },

  async future({ vendor, random, provider, signing, nowMs }) {
    const { body } = signing
    const seconds = nowMs / 1000 + WINDOW_S + 1 + below(random, 1e6)
    const headers = await vendor.sign({ ...signing, seconds })
    const isAccepted = await vendor.accepts(signing.secret, headers, body, nowMs)
    assert.equal(isAccepted, !vendor.isTimed || vendor.gaps.future, 'the vendor, of the future')
    const verification = provider.verify({ headers, body, nowMs })
    if (vendor.isTimed) isRefused(verification, 'POLICY_BLOCKED')
    else isVerified(verification)
  },

  async replayed({ vendor, random, provider, signing, nowMs }) {
    const { body } = signing
    const headers = await vendor.sign(signing)
    const first = isVerified(provider.verify({ headers, body, nowMs }))
    const later = { ...signing, seconds: signing.seconds + 250_000 }
    const again = await vendor.sign(later)
    assert.ok(await vendor.accepts(signing.secret, again, body, nowMs + 250_000_000), 'no vendor remembers')
    const second = isVerified(provider.verify({ headers: again, body, nowMs: nowMs + 250_000_000 }))
    assert.equal(second.replay.key, first.replay.key, 'sent again, it is the same')
    assert.ok(first.replay.keepUntilMs > nowMs + 72 * 3_600_000, 'and it is remembered for more than three days')
    const other = newSigning(vendor, random)
    const another = await vendor.sign({ ...other, secret: signing.secret })
    const third = isVerified(provider.verify({ headers: another, body: other.body, nowMs }))
    assert.notEqual(third.replay.key, first.replay.key, 'another event is another')
  },

  async 'wrong secret'({ vendor, random, provider, signing, nowMs }) {
    const { body } = signing
    const headers = await vendor.sign({ ...signing, secret: vendor.newSecret(random) })
    assert.ok(!(await vendor.accepts(signing.secret, headers, body, nowMs)))
    isRefused(provider.verify({ headers, body, nowMs }), 'UNAUTH')
  },

  async rotated({ vendor, random, signing, nowMs }) {
    const { body, secret: oldSecret } = signing
    const newSecret = vendor.newSecret(random)
    const both = [secret(oldSecret, nowMs), { ...secret(newSecret), id: 'env:NEW' }]
    const provider = opened(vendor.provider, random.next() < 0.5 ? both : both.toReversed())
    const before = nowMs - 1
    const old = await vendor.sign({ ...signing, seconds: Math.floor(before / 1000) })
    const fresh = await vendor.sign({ ...signing, secret: newSecret, seconds: Math.floor(before / 1000) })
    assert.equal(isVerified(provider.verify({ headers: old, body, nowMs: before })).secretId, both[0]!.id)
    for (const at of [before, nowMs]) {
      assert.equal(isVerified(provider.verify({ headers: fresh, body, nowMs: at })).secretId, 'env:NEW')
    }
    isRefused(provider.verify({ headers: old, body, nowMs }), 'UNAUTH', 'a secret past its end')
  },

  async 'not UTF-8'({ vendor, random, provider, signing, nowMs }) {
    const body = Buffer.concat([signing.body, Buffer.from([0xff, below(random, 256)])])
    const headers = vendor.signBytes({ ...signing, body })
    assert.ok(!(await vendor.accepts(signing.secret, headers, body, nowMs)), 'the vendor reads the body as text')
    isVerified(provider.verify({ headers, body, nowMs }))
  },

  async 'bytes that read the same'({ vendor, random, provider, signing, nowMs }) {
    const meant = Buffer.concat([signing.body, Buffer.from('\u{fffd}')])
    const sent = Buffer.concat([signing.body, Buffer.from([0x80 + below(random, 0x40)])])
    const headers = await vendor.sign({ ...signing, body: meant })
    assert.ok(await vendor.accepts(signing.secret, headers, sent, nowMs), 'as text, the vendor takes one for the other')
    isRefused(provider.verify({ headers, body: sent, nowMs }), 'UNAUTH')
  },

  async empty({ vendor, provider, signing, nowMs }) {
    const body = Buffer.alloc(0)
    const headers = vendor.signBytes({ ...signing, body })
    assert.equal(await vendor.accepts(signing.secret, headers, body, nowMs), !vendor.gaps.empty)
    isVerified(provider.verify({ headers, body, nowMs }))
  },

  async 'duplicate header'({ vendor, random, provider, signing, nowMs }) {
    const { body } = signing
    const headers = await vendor.sign(signing)
    const [name, value] = headers[below(random, headers.length)]!
    isRefused(provider.verify({ headers: [...headers, [name, value]], body, nowMs }), 'MALFORMED')
  },
}

function changed(headers: RawHeaders, name: string, change: (value: string) => string): RawHeaders {
  return headers.map((header) => (header[0] === name ? [name, change(header[1])] : header))
}

export function below(random: Random, bound: number): number {
  return Math.floor(random.next() * bound)
}

export function hexOf(random: Random, bytes: number): string {
  return Buffer.from(random.bytes(bytes)).toString('hex')
}

/** JSON of some length, with an id and a type at its top. */
export function jsonBody(random: Random, id: string, type: string): Buffer {
  const words = Array.from({ length: below(random, 30) }, () => hexOf(random, 1 + below(random, 12)))
  return Buffer.from(JSON.stringify({ id, type, grüße: words, n: below(random, 1e9), nested: { id: 'not me' } }))
}

/** What a library that only takes text is handed. */
export const asText = (body: Buffer): string => body.toString('utf8')

export async function verdict(judge: () => unknown): Promise<boolean> {
  try {
    return (await judge()) !== false
  } catch {
    return false
  }
}
