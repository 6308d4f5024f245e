/**
 * Copies at peers, proved: a chunk that this node picks at random is read from the peer and hashed.
 *
 *     claimed ── a chunk was read ──▶ proved, for a day ──▶ claimed
 *         └─ it has no such chunk, asked twice ──▶ no copy: made again ── claimed and absent a third time ──▶ caught
 *
 * A claim counts as a copy, so that nothing is copied twice while it waits for its turn; only a proved copy lets another
 * one go. A peer that loses a chunk to a bad drive makes a false claim, and is given the copy again.
 */
import { isKind, toCairnError } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'
import { chunksOf, digestsOf } from '@cairn/store'
import { type Address, addressFromDigest, chunkAddress } from '@cairn/wire'
import type { OwnCopies } from '../targets/own-copies.ts'
import { PeerTarget } from '../targets/peer-target.ts'
import type { KnownCopy, ObjectTarget, TargetCall } from '../targets/target.ts'

/** How long a copy that was proved counts as such. */
const PROVED_MS = 24 * 60 * 60 * 1000
/** Copies of one peer that are remembered as proved; past it the oldest are asked for again. */
const PROVED_MAX = 100_000
/** Challenges of one round, all peers together: a chunk each, of 64 KiB at most times. */
const ROUND_MAX = 512
/** False claims about one object, in as many rounds, after which nothing of the peer is believed. */
const CAUGHT_AT = 3
/** Objects whose false claims are remembered. */
const MISSED_MAX = 10_000

interface PeerRecord {
  /** When a copy was proved, by object. */
  readonly proved: Map<Address, number>
  /** False claims so far, by object. */
  readonly missed: Map<Address, number>
}

export interface ChallengesOptions {
  readonly own: OwnCopies
  readonly call: () => TargetCall
}

export class Challenges {
  readonly #platform: Platform
  readonly #options: ChallengesOptions
  readonly #peers = new Map<ObjectTarget, PeerRecord>()
  #left = ROUND_MAX

  constructor(platform: Platform, options: ChallengesOptions) {
    this.#platform = platform
    this.#options = options
  }

  beginRound(): void {
    this.#left = ROUND_MAX
  }

  /** What is known of the object there, once what a peer claims was looked at as far as this round has room for. */
  async checked(target: ObjectTarget, id: Address, known: KnownCopy): Promise<KnownCopy> {
    if (!(target instanceof PeerTarget) || known.tag !== 'object' || known.isStriped === true) return known
    const record = this.#recordOf(target)
    if (!this.#isProved(record, id) && this.#left > 0) {
      this.#left -= 1
      await this.#challenge(target, record, id)
    }
    // What it claims and has not is no copy; it may take one.
    if (record.missed.has(id)) return { tag: 'absent' }
    return { ...known, isProved: this.#isProved(record, id) }
  }

  async #challenge(peer: PeerTarget, record: PeerRecord, id: Address): Promise<void> {
    try {
      const chunk = await this.#pick(peer, id)
      if (chunk === undefined) return
      const isThere =
        (await this.#has(peer, chunk)) || !(await this.#stillClaims(peer, id)) || (await this.#has(peer, chunk))
      if (isThere) this.#proved(record, id)
      else this.#missed(peer, record, id)
    } catch (error) {
      // It could not be asked, or its copy is damaged and it says so: neither proves anything.
      this.#platform.log.debug({ peer: peer.identity.id, error: toCairnError(error) }, 'a copy was not proved')
    }
  }

  /** A chunk of the object as the peer has it; `undefined` if this node has no copy to pick one from. */
  async #pick(peer: PeerTarget, id: Address): Promise<Address | undefined> {
    const { own, call } = this.#options
    const { random } = this.#platform
    const contents = (await own.holder(id))?.drive.contents
    const facts = await contents?.storage.objects.stat(id)
    if (contents === undefined || facts === undefined) return undefined
    if (facts.pages.length === 0) return id
    const there = await peer.stat(id, call())
    const pick = <T>(from: readonly T[]): T | undefined => from[Math.floor(random.next() * from.length)]
    if (there !== undefined && there.chunkSize !== facts.chunkSize) {
      const manifest = await peer.manifest(id, call())
      return manifest === undefined ? id : chunkAddress(manifest, Math.floor(random.next() * manifest.chunkCount))
    }
    const page = pick([...digestsOf(facts.pages)])
    if (page === undefined) return undefined
    using held = await contents.chunks.read(addressFromDigest(page))
    const chunk = held === undefined ? undefined : pick([...chunksOf(held.bytes)])
    return chunk === undefined ? undefined : addressFromDigest(chunk.id)
  }

  async #has(peer: PeerTarget, chunk: Address): Promise<boolean> {
    try {
      using held = await peer.readChunk(chunk, this.#options.call())
      return held !== undefined
    } catch (error) {
      if (isKind(error, 'NotFound')) return false
      throw error
    }
  }

  /** It may have been deleted since it was asked. */
  async #stillClaims(peer: PeerTarget, id: Address): Promise<boolean> {
    const [known] = await peer.known([id], this.#options.call())
    return known?.tag === 'object'
  }

  #proved(record: PeerRecord, id: Address): void {
    record.missed.delete(id)
    record.proved.delete(id)
    record.proved.set(id, this.#platform.clock.now())
    const [oldest] = record.proved.keys()
    if (record.proved.size > PROVED_MAX && oldest !== undefined) record.proved.delete(oldest)
  }

  #missed(peer: PeerTarget, record: PeerRecord, id: Address): void {
    const times = (record.missed.get(id) ?? 0) + 1
    if (record.missed.size < MISSED_MAX) record.missed.set(id, times)
    record.proved.delete(id)
    this.#platform.metrics.count('integrity_fail_total', { reason: 'false_claim' })
    if (times < CAUGHT_AT) return
    record.missed.clear()
    peer.caught('It says that it has copies, and does not have them.')
  }

  #isProved({ proved }: PeerRecord, id: Address): boolean {
    const at = proved.get(id)
    return at !== undefined && this.#platform.clock.now() - at < PROVED_MS
  }

  #recordOf(target: ObjectTarget): PeerRecord {
    const record = this.#peers.get(target) ?? { proved: new Map<Address, number>(), missed: new Map<Address, number>() }
    this.#peers.set(target, record)
    return record
  }
}
