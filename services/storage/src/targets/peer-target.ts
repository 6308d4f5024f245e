/**
 * Another node as a target, over its chunk protocol and with a token of its own.
 *
 *     unknown, up ── a call is not answered, or the token refused ──▶ down ── a probe is answered ──▶ up
 *              ├─ bytes that are not what was asked for ──▶ distrusted, for a while
 *              └─ says that it has what it has not ──▶ caught, until an operator asks for a repair
 */
import { Caller, type CopyClient, copyClient, type RemoteCopy, type ScopeGrant } from '@cairn/clients'
import { type Breakers, CairnError, isKind, toCairnError } from '@cairn/kernel'
import { type Platform, readSmallFile } from '@cairn/platform'
import type { ChunkBytes } from '@cairn/store'
import { type Address, addressOf, type Manifest, statementText } from '@cairn/wire'
import { isBelieved } from './belief-core.ts'
import type { Statements } from './statements.ts'
import type {
  CopyFacts,
  CopyRow,
  Deletion,
  KnownCopy,
  ObjectCopy,
  ObjectTarget,
  TargetCall,
  TargetHealth,
  TargetIdentity,
  UploadContext,
  WholeCopy,
  WriteOutcome,
} from './target.ts'

/** After bytes that were not what they should be nothing is believed for this long. */
const DISTRUST_MS = 60_000
const SCOPES = ['storage:peer'] as const

export interface PeerSettings {
  readonly url: string
  readonly id: string
  readonly token_file: string
  readonly key?: string | undefined
  readonly region?: string | undefined
  readonly weight: number
}

export interface PeerOptions {
  readonly settings: PeerSettings
  readonly breakers: Breakers
  /** Go with every request: who we are. */
  readonly headers: () => Readonly<Record<string, string>>
  /** It has counted us out: what this node holds cannot be believed. */
  readonly onTooLate: () => void
  /** A version it tells; false if it cannot be one. */
  readonly onVersion: (version: number) => boolean
  /** It says that it signs with this key; throws if that cannot be. */
  readonly onKey: (key: string) => void
  readonly statements: Statements
}

type PeerHealth =
  | { readonly tag: 'unknown' }
  | { readonly tag: 'up' }
  | { readonly tag: 'down'; readonly why: string }
  | { readonly tag: 'distrusted'; readonly until: number }
  | { readonly tag: 'caught'; readonly why: string }

/** How soon a token that was replaced is used. */
const TOKEN_FRESH_MS = 1000

export class PeerTarget implements ObjectTarget {
  readonly identity: TargetIdentity
  readonly #platform: Platform
  readonly #client: CopyClient
  readonly #onTooLate: () => void
  readonly #onVersion: (version: number) => boolean
  readonly #onKey: (key: string) => void
  readonly #statements: Statements
  #state: PeerHealth = { tag: 'unknown' }
  #deceptions = 0

  constructor(platform: Platform, options: PeerOptions) {
    const { settings, breakers, headers, onTooLate, onVersion, onKey, statements } = options
    const { id, url, region = '', weight, token_file: tokenFile } = settings
    this.#platform = platform
    this.#onTooLate = onTooLate
    this.#onVersion = onVersion
    this.#onKey = onKey
    this.#statements = statements
    this.identity = { id, kind: 'peer', node: id, domain: `node ${id}`, region, weight: 1, nodeWeight: weight }
    const { transport } = platform
    const token = new TokenFile(platform, tokenFile)
    const grant: ScopeGrant = { scopes: SCOPES, bearer: async () => await token.read() }
    const base = new URL(url.endsWith('/') ? url : `${url}/`)
    const caller = new Caller({ runtime: platform, transport, base, target: `peer ${id}`, breakers, grant })
    this.#client = copyClient(caller, headers)
  }

  health(): TargetHealth {
    const state = this.#state
    switch (state.tag) {
      case 'up':
      // Nobody has asked it yet: whoever does first learns whether it is there.
      case 'unknown':
        return { tag: 'up' }
      case 'down':
      case 'caught':
        return { tag: 'down', why: state.why }
      case 'distrusted':
        return { tag: 'down', why: 'It sent bytes that are not what they were asked for as.' }
    }
  }

  /** How often it sent something else than it was asked for. */
  get deceptions(): number {
    return this.#deceptions
  }

  /** Asks whether it is there; says whether that has changed. */
  async probe(call: TargetCall): Promise<boolean> {
    const before = this.#state.tag
    if (before === 'caught') return false
    if (this.#state.tag === 'distrusted' && this.#state.until > this.#platform.clock.now()) return false
    try {
      await this.#known([], call)
      this.#state = { tag: 'up' }
    } catch {
      // `#ask` has said why.
    }
    return before !== this.#state.tag
  }

  /** It sent bytes that are not the object's: nothing of it is used until it had time to repair itself. */
  distrust(): void {
    this.#deceptions += 1
    const { clock, metrics, log } = this.#platform
    metrics.count('integrity_fail_total', { reason: 'header_mismatch' })
    log.error({ peer: this.identity.id }, 'a peer sent bytes that are not what they were asked for as')
    if (this.#state.tag !== 'caught') this.#state = { tag: 'distrusted', until: clock.now() + DISTRUST_MS }
  }

  /** It does not tell the truth: it counts for nothing until `forgive`. */
  caught(why: string): void {
    this.#deceptions += 1
    this.#platform.log.error({ peer: this.identity.id, why }, 'a peer was caught in a lie; none of its copies counts')
    this.#state = {
      tag: 'caught',
      why: `${why} None of its copies counts; once it is put right, run \`cairn repair\`.`,
    }
  }

  /** An operator gives it another chance. */
  forgive(): void {
    if (this.#state.tag === 'caught') this.#state = { tag: 'unknown' }
  }

  async known(ids: readonly Address[], call: TargetCall): Promise<readonly KnownCopy[]> {
    return await this.#known(ids, call)
  }

  async missing(ids: readonly Address[], place: UploadContext, call: TargetCall): Promise<readonly Address[]> {
    return await this.#ask(async () => await this.#client.missing(ids, place, call))
  }

  async putChunks(chunks: readonly Uint8Array[], place: UploadContext, call: TargetCall): Promise<void> {
    await this.#ask(async () => await this.#client.putChunks(chunks, place, call))
  }

  async commit(copy: ObjectCopy, call: TargetCall): Promise<WriteOutcome> {
    const { id, manifest, upload, ...facts } = copy
    if (manifest !== undefined) {
      const sent = { address: id, manifest, upload, ...facts }
      return storedOf(await this.#ask(async () => await this.#client.commit(sent, call)))
    }
    throw new CairnError('Internal', 'An object of one chunk is put whole.')
  }

  async put({ id, ...copy }: WholeCopy, call: TargetCall): Promise<WriteOutcome> {
    return storedOf(await this.#ask(async () => await this.#client.put({ address: id, ...copy }, call)))
  }

  async readChunk(id: Address, call: TargetCall): Promise<ChunkBytes | undefined> {
    const bytes = await orAbsent(this.#ask(async () => await this.#client.chunk(id, call)))
    if (bytes === undefined) return undefined
    if (addressOf(bytes) === id) return { bytes, [Symbol.dispose]: () => undefined }
    this.distrust()
    throw new CairnError('Integrity', `The bytes that a peer sent are not those of ${id}.`)
  }

  async stat(id: Address, call: TargetCall): Promise<CopyFacts | undefined> {
    return await orAbsent(this.#ask(async () => await this.#client.stat(id, call)))
  }

  async manifest(id: Address, call: TargetCall): Promise<Manifest | undefined> {
    try {
      return await this.#ask(async () => await this.#client.manifest(id, call))
    } catch (error) {
      const { kind, code, cause } = toCairnError(error)
      if (code === 'single_chunk') return undefined
      // Its own refusal has a problem as its cause; a manifest that does not fold to the address is a lie.
      if (kind === 'Integrity' && cause === undefined) this.distrust()
      throw error
    }
  }

  async remove(id: Address, { record, ...deletion }: Deletion, call: TargetCall): Promise<void> {
    const sent = { ...deletion, record: record === undefined ? undefined : statementText(record) }
    await this.#ask(async () => await this.#client.remove(id, sent, call))
  }

  async hold(owner: string, id: Address, call: TargetCall): Promise<void> {
    await this.#ask(async () => await this.#client.hold(owner, id, call))
  }

  async release(owner: string, id: Address, call: TargetCall): Promise<void> {
    await this.#ask(async () => await this.#client.release(owner, id, call))
  }

  async page(after: Address | undefined, limit: number, call: TargetCall): Promise<readonly CopyRow[]> {
    const rows = await this.#ask(async () => await this.#client.page(after, limit, call))
    return rows.flatMap(({ address, copy }) => {
      const known = this.#believed(address, copy)
      return known.tag === 'absent' ? [] : { id: address, known }
    })
  }

  async #known(ids: readonly Address[], call: TargetCall): Promise<readonly KnownCopy[]> {
    return await this.#ask(async () => {
      const { node, key, version, copies } = await this.#client.known(ids, call)
      if (node !== this.identity.id)
        throw new CairnError('Internal', `The node at this address is ${node}, not ${this.identity.id}.`, {
          code: 'wrong_peer',
        })
      if (key !== undefined) this.#onKey(key)
      this.#onVersion(version)
      return copies.map((copy, at) => this.#believed(ids[at], copy))
    })
  }

  /** What may be gone by of what it says: a delete that no member has signed is not one, and something is unknown there. */
  #believed(id: Address | undefined, copy: RemoteCopy): KnownCopy {
    if (copy.tag === 'absent') return copy
    const { tag, version } = copy
    const shown = tag === 'tombstone' && id !== undefined ? copy.record : undefined
    const record = id === undefined ? undefined : this.#statements.deleteIn(shown, id, version)
    const heard = { tag, version, isPlausible: this.#onVersion(version), isSigned: record !== undefined }
    if (!isBelieved(heard)) return { tag: 'absent', isPartial: true }
    // What it says of its own proofs is its word: this node looks for itself.
    if (tag === 'object') return { ...copy, isProved: false }
    return record === undefined ? { tag, version } : { tag, version, record }
  }

  /** Asks, and learns from how that went whether the peer can be used. */
  async #ask<T>(ask: () => Promise<T>): Promise<T> {
    try {
      return await ask()
    } catch (error) {
      const known = toCairnError(error)
      this.#learn(known)
      throw translated(known)
    }
  }

  #learn(error: CairnError): void {
    const isRefused = error.kind === 'Unauthorized' || error.kind === 'Forbidden'
    if (isRefused) this.#platform.metrics.count('peer_auth_fail_total')
    const { code, kind, message } = error
    if (code === 'rejoin_empty') this.#onTooLate()
    const isAway = kind === 'Timeout' || kind === 'BreakerOpen' || code === 'wrong_peer' || code === 'rejoin_empty'
    if (!isRefused && !isAway) return
    if (this.#state.tag === 'distrusted' || this.#state.tag === 'caught') return
    if (this.#state.tag !== 'down') this.#platform.log.warn({ peer: this.identity.id, error }, 'a peer cannot be used')
    this.#state = { tag: 'down', why: message }
  }
}

function storedOf(isNew: boolean): WriteOutcome {
  return isNew ? 'new' : 'present'
}

async function orAbsent<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked
  } catch (error) {
    if (isKind(error, 'NotFound')) return undefined
    throw error
  }
}

/** The version a peer knows comes as a field of its refusal. */
function translated(error: CairnError): CairnError {
  if (error.code !== 'newer_version') return error
  const { version }: Partial<Record<string, unknown>> =
    typeof error.cause === 'object' && error.cause !== null ? { ...error.cause } : {}
  return new CairnError('Conflict', error.message, { code: 'newer_version', cause: Number(version ?? 0) })
}

/** The token for a peer as its file had it a moment ago: a new one is taken up soon, and no request waits for the drive. */
class TokenFile {
  readonly #platform: Platform
  readonly #path: string
  #token = ''
  #freshUntil = Number.NEGATIVE_INFINITY

  constructor(platform: Platform, path: string) {
    this.#platform = platform
    this.#path = path
  }

  async read(): Promise<string> {
    const { clock, disk } = this.#platform
    if (clock.now() < this.#freshUntil) return this.#token
    try {
      const bytes = await readSmallFile(disk, this.#path)
      if (bytes === undefined) throw this.#absent()
      this.#token = new TextDecoder().decode(bytes).trim()
    } catch (cause) {
      // A drive that cannot be read now does not make a token that was right wrong.
      if (isKind(cause, 'Unauthorized') || this.#token === '') throw this.#unreadable(cause)
    }
    this.#freshUntil = clock.now() + TOKEN_FRESH_MS
    return this.#token
  }

  #absent(): CairnError {
    return new CairnError('Unauthorized', `There is no token at ${this.#path}; mint one at the peer and put it there.`)
  }

  #unreadable(cause: unknown): CairnError {
    if (isKind(cause, 'Unauthorized')) return cause
    const detail = `The token for a peer, ${this.#path}, cannot be read now; look at the drive it is on.`
    return new CairnError('StorageBusy', detail, { code: 'drive_failed', retryAfterMs: 1000, cause })
  }
}
