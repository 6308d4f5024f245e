/**
 * IPFS Delegated Routing v1, `GET /routing/v1/providers/{cid}`: one codec for the side that asks and the side that
 * answers.
 *
 *     application/json       {"Providers": [peer, peer …]}          one answer
 *     application/x-ndjson   peer ⏎ peer ⏎ …                        each as soon as it is known
 *
 *     peer   {"Schema": "peer", "ID": peer id, "Addrs": [multiaddr …], "Protocols": [name …], name: metadata …}
 *
 * Stock clients find HTTP multiaddrs there. For other cairn nodes our signed record travels along as the metadata of
 * the protocol `cairn-provider`; that is all they trust. No other protocol is named: a client that tried one which
 * is not served at that address would fail there.
 */
import { CairnError } from '@cairn/kernel'
import { type Address, cidFromAddress, fromBase64url, type JsonObject, toBase64url } from '@cairn/wire'
import { multiaddrFromUrl, urlFromMultiaddr } from './multiaddr-url.ts'
import type { Provider } from './provider-routing.ts'
import { RECORD_BYTES_MAX } from './record.ts'

export const NDJSON = 'application/x-ndjson'

const RECORD_PROTOCOL = 'cairn-provider'
/** Base64url of the largest record, its addresses again, and room. */
const PEER_TEXT_MAX = 3 * RECORD_BYTES_MAX
const ANSWER_BYTES_MAX = 1024 * 1024
const PEERS_MAX = 128
const ADDRESSES_MAX = 64
/** Peer ids of every kind of key, in base58 or base32. */
const PEER_ID = /^[A-Za-z0-9]{8,128}$/

/** What an answer says about one peer; nothing of it is verified. */
export interface DelegatedPeer {
  readonly id: string
  readonly http: readonly string[]
  readonly record?: Uint8Array
}

/** Where the question for an address goes, below the base of an endpoint. */
export function delegatedPath(cid: Address): string {
  return `routing/v1/providers/${cidFromAddress(cid)}`
}

/** Whether the client prefers the answer line by line. */
export function wantsNdjson(accept: string | undefined): boolean {
  const quality = (type: string): number => qualityOf(accept ?? '', type)
  return quality(NDJSON) > 0 && quality(NDJSON) >= quality('application/json')
}

function qualityOf(accept: string, type: string): number {
  const ranges = accept.split(',').map((range) => range.split(';').map((part) => part.trim().toLowerCase()))
  const found = ranges.find(([name]) => name === type)
  if (found === undefined) return 0
  const weight = found.find((part) => part.startsWith('q='))
  return weight === undefined ? 1 : Number(weight.slice(2)) || 0
}

/** What a client asks to see (IPIP-484), in lower case; absent where it asks for all. */
export interface DelegatedFilters {
  /** Protocols of peers, `unknown` for those that name none. */
  readonly protocols?: readonly string[] | undefined
  /** Protocols within multiaddrs, with `!` those that must not be there; `unknown` for peers without addresses. */
  readonly addrs?: readonly string[] | undefined
}

const UNKNOWN = 'unknown'

/** The list a query parameter holds; undefined for none, or an empty one. */
export function filterList(text: string | undefined): readonly string[] | undefined {
  const members = (text ?? '')
    .toLowerCase()
    .split(',')
    .filter((member) => member !== '')
  return members.length === 0 ? undefined : members
}

/** A provider as one peer of an answer; nothing if a filter leaves nothing of it. */
function delegatedPeer({ id, http, record }: Provider, { protocols, addrs }: DelegatedFilters): JsonObject | undefined {
  const named = record === undefined ? [] : [RECORD_PROTOCOL]
  const isWanted = (protocols ?? [UNKNOWN, ...named]).some((each) => named.includes(each) || isUnknown(each, named))
  const all = http.map(multiaddrFromUrl).filter((address) => address !== undefined)
  const shown = addrs === undefined ? all : all.filter((address) => passes(address, addrs))
  const isReachable = addrs === undefined || shown.length > 0 || (all.length === 0 && addrs.includes(UNKNOWN))
  if (!isWanted || !isReachable) return undefined
  const peer = { Schema: 'peer', ID: id, Addrs: shown, Protocols: named }
  return record === undefined ? peer : { ...peer, [RECORD_PROTOCOL]: toBase64url(record.bytes) }
}

function isUnknown(filter: string, protocols: readonly string[]): boolean {
  return filter === UNKNOWN && protocols.length === 0
}

/** Not with what must not be there; with one of the others, if any is asked for. */
function passes(multiaddr: string, filters: readonly string[]): boolean {
  const protocols = multiaddr.split('/')
  const wanted = filters.filter((filter) => !filter.startsWith('!'))
  if (filters.some((filter) => filter.startsWith('!') && protocols.includes(filter.slice(1)))) return false
  return wanted.length === 0 || wanted.some((filter) => protocols.includes(filter))
}

function delegatedPeers(providers: readonly Provider[], filters: DelegatedFilters): JsonObject[] {
  return providers.map((provider) => delegatedPeer(provider, filters)).filter((peer) => peer !== undefined)
}

/** The whole answer as one document. */
export function delegatedJson(providers: readonly Provider[], filters: DelegatedFilters = {}): JsonObject {
  return { Providers: delegatedPeers(providers, filters) }
}

/** The same, a line for each. */
export function delegatedLines(providers: readonly Provider[], filters: DelegatedFilters = {}): string {
  return delegatedPeers(providers, filters)
    .map((peer) => `${JSON.stringify(peer)}\n`)
    .join('')
}

/**
 * The peers of an answer, as they come. Ends after 128 peers; throws `bad_answer` for what is not such an answer, and
 * for one of more than a megabyte. Single peers that make no sense are left out.
 */
export async function* readDelegated(
  body: AsyncIterable<Uint8Array>,
  contentType: string | undefined,
): AsyncGenerator<DelegatedPeer> {
  const type = contentType?.split(';')[0]?.trim().toLowerCase()
  if (type === NDJSON) yield* first(peersIn(lines(body)), PEERS_MAX)
  else if (type === 'application/json') yield* peersOf(await wholeText(body)).slice(0, PEERS_MAX)
  else throw badAnswer(`is ${type ?? 'of no type'}, neither JSON nor NDJSON`)
}

async function* first<T>(source: AsyncIterable<T>, count: number): AsyncGenerator<T> {
  let left = count
  for await (const item of source) {
    yield item
    left -= 1
    if (left === 0) return
  }
}

async function* peersIn(source: AsyncIterable<string>): AsyncGenerator<DelegatedPeer> {
  for await (const line of source) {
    if (line.trim() === '') continue
    const peer = readPeer(parsed(line))
    if (peer !== undefined) yield peer
  }
}

function peersOf(text: string): DelegatedPeer[] {
  const { Providers: list } = objectOf(parsed(text)) ?? {}
  // An empty answer of some servers is null.
  if (list === null || list === undefined) return []
  if (!Array.isArray(list)) throw badAnswer('has no list of providers')
  return list.map(readPeer).filter((peer) => peer !== undefined)
}

/** One peer of an answer; undefined for other schemas and for what makes no sense. */
function readPeer(value: unknown): DelegatedPeer | undefined {
  const { Schema: schema, ID: id, Addrs: addresses, [RECORD_PROTOCOL]: record } = objectOf(value) ?? {}
  if (schema !== 'peer' || typeof id !== 'string' || !PEER_ID.test(id)) return undefined
  const texts = Array.isArray(addresses)
    ? addresses.slice(0, ADDRESSES_MAX).filter((one) => typeof one === 'string')
    : []
  const peer = { id, http: texts.map(urlFromMultiaddr).filter((url) => url !== undefined) }
  return typeof record === 'string' ? { ...peer, record: recordBytes(record) } : peer
}

/** Text that is not base64url becomes an invalid record, so that it is counted where records are judged. */
function recordBytes(text: string): Uint8Array {
  try {
    return fromBase64url(text)
  } catch {
    return new Uint8Array()
  }
}

async function wholeText(body: AsyncIterable<Uint8Array>): Promise<string> {
  let text = ''
  for await (const piece of decoded(body)) text += piece
  return text
}

async function* lines(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let rest = ''
  for await (const piece of decoded(body)) {
    const whole = (rest + piece).split('\n')
    rest = whole.pop() ?? ''
    if (rest.length > PEER_TEXT_MAX) throw badAnswer(`has a line of more than ${PEER_TEXT_MAX} characters`)
    yield* whole
  }
  if (rest !== '') yield rest
}

async function* decoded(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let length = 0
  for await (const bytes of body) {
    length += bytes.length
    if (length > ANSWER_BYTES_MAX) throw badAnswer(`has more than ${ANSWER_BYTES_MAX} bytes`)
    yield decoder.decode(bytes, { stream: true })
  }
  yield decoder.decode()
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw badAnswer('is not JSON', cause)
  }
}

function objectOf(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null ? { ...value } : undefined
}

function badAnswer(why: string, cause?: unknown): CairnError {
  return new CairnError('Internal', `The endpoint's answer ${why}.`, { code: 'bad_answer', status: 502, cause })
}
