/** What the index answers, read field by field. Fields we do not know are left aside: answers may grow. */
import type { IncomingResponse } from '@cairn/platform'
import type { Address } from '@cairn/wire'
import { address, amount, choice, type Fields, objectOf, rows, text, texts } from './answer-fields.ts'
import { badAnswer, readObject } from './response-body.ts'

/** Where the index has an answer from. */
export type ResolutionSource = 'cache' | 'registry' | 'db' | 'dht'

/** What a key means. */
export interface Resolution {
  readonly key: string
  readonly kind: 'name' | 'cid'
  readonly manifest: Address
  readonly source: ResolutionSource
  /** Seconds since the index last made sure. */
  readonly freshnessSeconds: number
  /** How many providers the index knows of. */
  readonly providersHint: number
  /** Of a name that a registry vouches for: its proof file, byte for byte. */
  readonly proof?: Uint8Array
}

/** Why a provider stands where it does. */
export type ProviderClass = 'region_match' | 'fresh' | 'any' | 'unverified'

export interface RankedProvider {
  readonly id: string
  /** Where its objects are to be had; none where only its id is known. */
  readonly http: readonly string[]
  readonly region?: string
  readonly class: ProviderClass
  /** 0 to 1. */
  readonly score: number
  readonly lastSeenSeconds: number
}

export interface ProviderSet {
  readonly cid: Address
  /** Best first. */
  readonly providers: readonly RankedProvider[]
  /** How the lookup went; absent where nobody was asked. */
  readonly hedge?: Hedge
}

export interface Hedge {
  readonly alphaMs: number
  /** Absent where the first wave was enough. */
  readonly betaMs?: number
  readonly winner: 'alpha' | 'beta' | 'tie'
}

export interface KnownPeer {
  readonly id: string
  readonly addresses: readonly string[]
  readonly connected: boolean
}

export interface KnownPeers {
  readonly peers: readonly KnownPeer[]
}

export interface Announced {
  readonly accepted: number
  readonly refused: readonly { readonly index: number; readonly code: string; readonly detail: string }[]
}

/** A proof has at most 64 MiB; as a JSON text each of its quotation marks takes two bytes. */
const RESOLUTION_BYTES_MAX = 96 * 1024 * 1024
const ANSWER_BYTES_MAX = 4 * 1024 * 1024

type Read<T> = (response: IncomingResponse) => Promise<T>

export function readResolution(key: string): Read<Resolution> {
  return async (response) => {
    const fields = await readObject(response, RESOLUTION_BYTES_MAX)
    if (fields['key'] !== key) throw badAnswer('is about another key')
    const manifest = address(fields, 'manifest_cid')
    // An address means itself: whoever says otherwise is not worth asking.
    if (key.startsWith('b3:') && manifest !== key) throw badAnswer('gives an address another meaning than itself')
    return {
      key,
      kind: choice(fields, 'kind', ['name', 'cid']),
      manifest,
      source: choice(fields, 'source', ['cache', 'registry', 'db', 'dht']),
      freshnessSeconds: amount(fields, 'freshness_s'),
      providersHint: amount(fields, 'providers_hint'),
      ...(fields['proof'] === undefined ? {} : { proof: new TextEncoder().encode(text(fields, 'proof')) }),
    }
  }
}

export function readProviders(cid: Address): Read<ProviderSet> {
  return async (response) => {
    const fields = await readObject(response, ANSWER_BYTES_MAX)
    if (fields['cid'] !== cid) throw badAnswer('is about another address')
    const providers = rows(fields, 'providers').map(rankedProvider)
    return { cid, providers, ...(fields['hedge'] === undefined ? {} : { hedge: hedge(objectOf(fields['hedge'])) }) }
  }
}

function rankedProvider(fields: Fields): RankedProvider {
  const score = amount(fields, 'score')
  if (score > 1) throw badAnswer('has a score above 1')
  return {
    id: text(fields, 'id'),
    http: texts(fields, 'http'),
    ...(fields['region'] === undefined ? {} : { region: text(fields, 'region') }),
    class: choice(fields, 'class', ['region_match', 'fresh', 'any', 'unverified']),
    score,
    lastSeenSeconds: amount(fields, 'last_seen_s'),
  }
}

function hedge(fields: Fields): Hedge {
  return {
    alphaMs: amount(fields, 'alpha_ms'),
    ...(fields['beta_ms'] === undefined ? {} : { betaMs: amount(fields, 'beta_ms') }),
    winner: choice(fields, 'winner', ['alpha', 'beta', 'tie']),
  }
}

export const readPeers: Read<KnownPeers> = async (response) => {
  const peers = rows(await readObject(response, ANSWER_BYTES_MAX), 'peers').map((fields) => {
    const { connected } = fields
    if (typeof connected !== 'boolean') throw badAnswer('does not say whether a peer is connected')
    return { id: text(fields, 'id'), addresses: texts(fields, 'addresses'), connected }
  })
  return { peers }
}

export const readAnnounced: Read<Announced> = async (response) => {
  const fields = await readObject(response, ANSWER_BYTES_MAX)
  const refused = rows(fields, 'refused').map((row) => ({
    index: amount(row, 'index'),
    code: text(row, 'code'),
    detail: text(row, 'detail'),
  }))
  return { accepted: amount(fields, 'accepted'), refused }
}
