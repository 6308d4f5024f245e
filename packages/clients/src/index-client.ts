/**
 * The client of the index: its answers, each checked for its form, and the calls for them. A proof keeps the bytes it
 * came as, so that a caller with a trust file can verify it (`verifyProof` of `names`).
 */
import { isKind } from '@cairn/kernel'
import type { IncomingResponse } from '@cairn/transport'
import { type Address, toBase64url } from '@cairn/wire'
import type { CallContext, Caller } from './caller.ts'
import {
  address,
  amount,
  badAnswer,
  choice,
  type JsonFields,
  objectOf,
  readNothing,
  readObject,
  rows,
  text,
  texts,
} from './response-body.ts'

// Answers, read field by field. Unknown fields are ignored: answers may grow.

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
  /** How the lookup went; absent where no peer was asked. */
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

type IndexReader<T> = (response: IncomingResponse) => Promise<T>

function readResolution(key: string): IndexReader<Resolution> {
  return async (response) => {
    const fields = await readObject(response, RESOLUTION_BYTES_MAX)
    if (fields['key'] !== key) throw badAnswer('is about another key')
    const manifest = address(fields, 'manifest_cid')
    // An address means itself: an answer that says otherwise is wrong.
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

function readProviders(cid: Address): IndexReader<ProviderSet> {
  return async (response) => {
    const fields = await readObject(response, ANSWER_BYTES_MAX)
    if (fields['cid'] !== cid) throw badAnswer('is about another address')
    const providers = rows(fields, 'providers').map(rankedProvider)
    return { cid, providers, ...(fields['hedge'] === undefined ? {} : { hedge: hedge(objectOf(fields['hedge'])) }) }
  }
}

function rankedProvider(fields: JsonFields): RankedProvider {
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

function hedge(fields: JsonFields): Hedge {
  return {
    alphaMs: amount(fields, 'alpha_ms'),
    ...(fields['beta_ms'] === undefined ? {} : { betaMs: amount(fields, 'beta_ms') }),
    winner: choice(fields, 'winner', ['alpha', 'beta', 'tie']),
  }
}

const readPeers: IndexReader<KnownPeers> = async (response) => {
  const peers = rows(await readObject(response, ANSWER_BYTES_MAX), 'peers').map((fields) => {
    const { connected } = fields
    if (typeof connected !== 'boolean') throw badAnswer('does not say whether a peer is connected')
    return { id: text(fields, 'id'), addresses: texts(fields, 'addresses'), connected }
  })
  return { peers }
}

const readAnnounced: IndexReader<Announced> = async (response) => {
  const fields = await readObject(response, ANSWER_BYTES_MAX)
  const refused = rows(fields, 'refused').map((row) => ({
    index: amount(row, 'index'),
    code: text(row, 'code'),
    detail: text(row, 'detail'),
  }))
  return { accepted: amount(fields, 'accepted'), refused }
}

export interface IndexResolveOptions {
  /** Past the caches. */
  readonly fresh?: boolean
  /** The proof is to show as well that the log continues the tree of this size, which was seen before. */
  readonly from?: number
}

export interface ProvidersOptions {
  /** 1 to 32; the index gives 5 unless told. */
  readonly limit?: number
  /** Prefer holders there. */
  readonly region?: string
  /** Only holders confirmed within this many seconds. */
  readonly minFreshness?: number
}

export interface IndexClient {
  /** Returns what `name:…` or `b3:…` means; undefined if not found. */
  resolve(key: string, options: IndexResolveOptions, context: CallContext): Promise<Resolution | undefined>
  /** Returns the providers of an address, best first; empty where none is known. */
  providers(cid: Address, options: ProvidersOptions, context: CallContext): Promise<ProviderSet>
  peers(context: CallContext): Promise<KnownPeers>
  /** Hands over signed provider records, byte for byte; says which were not taken, and why. */
  announce(records: readonly Uint8Array[], context: CallContext): Promise<Announced>
  /** Says that a provider gave other bytes than the address says, or none: it is left out for a while. */
  report(cid: Address, provider: string, reason: 'corrupt' | 'dead', context: CallContext): Promise<void>
  /** A pinned address is never forgotten, kept fresh, and provided again. */
  pin(cid: Address, context: CallContext): Promise<void>
  unpin(cid: Address, context: CallContext): Promise<void>
  /** Says what a name means on a node without a registry. */
  putName(name: string, manifest: Address, context: CallContext): Promise<void>
  removeName(name: string, context: CallContext): Promise<void>
}

/** The client over HTTP or in process: the caller's transport decides. */
export function indexClient(caller: Caller): IndexClient {
  return { ...readCalls(caller), ...writeCalls(caller) }
}

type IndexReadCalls = Pick<IndexClient, 'resolve' | 'providers' | 'peers'>

function readCalls(caller: Caller): IndexReadCalls {
  return {
    resolve: async (key, { fresh, from }, context) => {
      const path = `resolve/${encodeURIComponent(key)}${queryOf({ fresh: fresh === true ? 'true' : undefined, from })}`
      const read = readResolution(key)
      return await unlessNotFound(caller.call({ ...reading('resolve', path), read }, context))
    },
    providers: async (cid, { limit, region, minFreshness }, context) => {
      const query = queryOf({ limit, region, min_freshness: minFreshness })
      const call = { ...reading('providers', `providers/${cid}${query}`), read: readProviders(cid) }
      return (await unlessNotFound(caller.call(call, context))) ?? { cid, providers: [] }
    },
    peers: async (context) => {
      const call = { ...reading('peers', 'peers'), scope: 'index:read', read: readPeers } as const
      return await caller.call(call, context)
    },
  }
}

function writeCalls(caller: Caller): Omit<IndexClient, keyof IndexReadCalls> {
  const pinning = async (operation: 'pin' | 'unpin', cid: Address, context: CallContext): Promise<void> => {
    const call = {
      ...posting(operation, `admin/${operation}`, { cid }),
      scope: 'index:pin',
      read: readNothing,
    } as const
    await caller.call(call, context)
  }
  const naming = (operation: string, method: 'PUT' | 'DELETE', name: string) => {
    const path = `admin/names/${encodeURIComponent(name)}`
    return { operation, method, path, idempotent: true, scope: 'index:admin', read: readNothing } as const
  }
  return {
    announce: async (records, context) => {
      const call = {
        ...posting('announce', 'announce', { records: records.map(toBase64url) }),
        scope: 'index:announce',
        read: readAnnounced,
      } as const
      return await caller.call(call, context)
    },
    report: async (cid, provider, reason, context) => {
      const call = {
        ...posting('report', `providers/${cid}/report`, { provider, reason }),
        scope: 'index:announce',
        read: readNothing,
      } as const
      await caller.call(call, context)
    },
    pin: async (cid, context) => {
      await pinning('pin', cid, context)
    },
    unpin: async (cid, context) => {
      await pinning('unpin', cid, context)
    },
    putName: async (name, manifest, context) => {
      const body = json({ manifest_cid: manifest })
      await caller.call({ ...naming('put_name', 'PUT', name), headers: JSON_TYPE, body }, context)
    },
    removeName: async (name, context) => {
      await caller.call(naming('remove_name', 'DELETE', name), context)
    },
  }
}

/** The answer; undefined where the other side says that there is nothing. */
async function unlessNotFound<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch (error) {
    if (isKind(error, 'NotFound') && error.code === 'not_found') return undefined
    throw error
  }
}

function queryOf(parameters: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  )
  return given.length === 0 ? '' : `?${given.join('&')}`
}

const JSON_TYPE = { 'content-type': 'application/json' } as const

function reading(operation: string, path: string) {
  return { operation, path, method: 'GET', idempotent: true } as const
}

function posting(operation: string, path: string, body: unknown) {
  return { operation, path, method: 'POST', idempotent: true, headers: JSON_TYPE, body: json(body) } as const
}

function json(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value))
}
