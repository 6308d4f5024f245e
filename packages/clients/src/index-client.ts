/**
 * What a key means and who holds an address, as another service or the command line asks for it. What comes back has
 * the form it must have; a proof stays the bytes it came as, for whoever holds a trust file (`verifyProof` of `names`).
 */
import { isKind } from '@cairn/kernel'
import { type Address, toBase64url } from '@cairn/wire'
import type { CallContext, Caller } from './caller.ts'
import {
  type Announced,
  type KnownPeers,
  type ProviderSet,
  type Resolution,
  readAnnounced,
  readPeers,
  readProviders,
  readResolution,
} from './index-answers.ts'
import { readNothing } from './response-body.ts'

export interface ResolveOptions {
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
  /** What `name:…` or `b3:…` means; undefined if nobody knows. */
  resolve(key: string, options: ResolveOptions, context: CallContext): Promise<Resolution | undefined>
  /** Who holds an address, best first; nobody where none is known. */
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

type ReadCalls = Pick<IndexClient, 'resolve' | 'providers' | 'peers'>

function readCalls(caller: Caller): ReadCalls {
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

function writeCalls(caller: Caller): Omit<IndexClient, keyof ReadCalls> {
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
