/**
 * Which nodes can still be believed: deletes are forgotten after a while, and a node that was away for longer may bring
 * back what was deleted.
 *
 *     reached ──▶ away, counted while this node runs ── longer than deletes are kept ──▶ expired ── refused: come back empty
 *        ▲                                                                                   └─ with a new life ─▶ reached
 *
 * After a partition each side has counted the other out. The one with fewer nodes gives way; of two alike, the one
 * whose name is later.
 *
 * A node that is told to come back empty does so only if its own record says that it was away, and most of those it
 * lost say so too: what one of them says empties nobody.
 */
import { type Breakers, CairnError, Deadline, sleep } from '@cairn/kernel'
import { type Platform, readSmallJson, replaceSmallJson } from '@cairn/platform'
import { toHex } from '@cairn/wire'
import { z } from 'zod'
import { mustBeginEmpty } from './belief-core.ts'
import type { Drives } from './drives.ts'
import type { PeerTarget } from './peer-target.ts'

// Looks after the peers: who is there, who was away for too long, and whether this node was.

/** What a peer may take to say whether it is there, tries included; requests that carry bytes have `peer_timeout`. */
const ANSWER_MS = 1000
/** How soon a peer that goes or comes back is noticed. */
const PROBE_MS = 1000

interface PeerWatchOptions {
  readonly peers: readonly PeerTarget[]
  readonly breakers: Breakers
  readonly gate: PeersGate
  readonly drives: Drives
  /** Peers that say that this node was away for too long, since this was last looked at. */
  readonly late: Set<string>
  readonly timeoutMs: number
  /** The highest version of this node. */
  readonly highest: () => number
}

export class PeerWatch {
  readonly #platform: Platform
  readonly #options: PeerWatchOptions

  constructor(platform: Platform, options: PeerWatchOptions) {
    this.#platform = platform
    this.#options = options
  }

  get count(): number {
    return this.#options.peers.length
  }

  /** Asks every peer whether it is there; says whether that has changed for any. */
  async round(signal: AbortSignal): Promise<boolean> {
    const { peers, breakers, gate, late, drives, timeoutMs, highest } = this.#options
    const { clock, log } = this.#platform
    const call = { deadline: Deadline.after(clock, Math.min(ANSWER_MS, timeoutMs)), signal }
    const changes = await Promise.all(peers.map(async (peer) => await peer.probe(call)))
    breakers.sweep()
    const isUp = (node: string): boolean =>
      peers.some((peer) => peer.identity.id === node && peer.health().tag === 'up')
    await gate.tick(isUp, highest())
    const saidBy = new Set(late)
    late.clear()
    if (!gate.mustBeginEmpty(saidBy)) {
      if (saidBy.size > 0)
        log.warn({ peers: [...saidBy] }, 'peers say that this node has to come back empty; too few, or it was not away')
      return changes.includes(true)
    }
    log.error({}, 'this node was away for longer than its peers remember deletes: it begins empty, and is filled again')
    await drives.beginEmpty()
    await gate.renew()
    return true
  }

  /** Gives every peer that was caught another chance. */
  forgive(): void {
    for (const peer of this.#options.peers) peer.forgive()
  }

  /** Asks the peer of this name who it is: it may have said something signed before this node heard of its key. */
  async introduce(node: string, signal: AbortSignal): Promise<void> {
    const { peers, timeoutMs } = this.#options
    const call = { deadline: Deadline.after(this.#platform.clock, Math.min(ANSWER_MS, timeoutMs)), signal }
    await peers.find(({ identity }) => identity.id === node)?.probe(call)
  }

  /** A pause before the next round. */
  async pause(signal: AbortSignal): Promise<void> {
    await sleep(this.#platform.clock, PROBE_MS, { signal })
  }
}

const NAME = 'peers.json'
const SAVE_MS = 60_000
/** Keys of one peer that are remembered: a node that lost its directory comes back with another. */
const KEYS_MAX = 4

const peersFile = z.strictObject({
  /** Of this node: a new one says that it began empty. */
  life: z.string(),
  /** This node was away from most of the others for longer than deletes are kept, in this life. */
  was_away: z.boolean().optional(),
  /** The highest version that this node has issued or followed. */
  version: z.number().min(0).optional(),
  /** When this was written down, by the wall clock: how long the node was off is seen from it. */
  saved_at: z.number().optional(),
  peers: z.record(
    z.string(),
    z.strictObject({
      life: z.string(),
      away_ms: z.number().min(0),
      is_expired: z.boolean(),
      /** Public keys it signed with, the newest first; what it signed with an older one still counts. */
      keys: z.array(z.string()).max(KEYS_MAX).optional(),
    }),
  ),
})

type PeersFile = z.output<typeof peersFile>
type PeerState = PeersFile['peers'][string]

const UNKNOWN: PeerState = { life: '', away_ms: 0, is_expired: false }

export interface GateOptions {
  readonly directory: string
  readonly node: string
  readonly peers: readonly string[]
  /** The public keys that the configuration names, by peer. */
  readonly keys: ReadonlyMap<string, string>
  readonly keepMs: number
}

interface PeerHeaders {
  get(name: string): string | undefined
}

/** The header in which a peer says what it is called. */
export const PEER_NODE = 'x-cairn-node'
const LIFE = 'x-cairn-life'
const COMPANY = 'x-cairn-company'

export class PeersGate {
  readonly #platform: Platform
  readonly #options: GateOptions
  #file: PeersFile
  #tickedAt: number
  #savedAt = Number.NEGATIVE_INFINITY

  private constructor(platform: Platform, options: GateOptions, file: PeersFile) {
    this.#platform = platform
    this.#options = options
    this.#file = file
    this.#tickedAt = platform.clock.now()
  }

  static async open(platform: Platform, options: GateOptions): Promise<PeersGate> {
    const read = await readSmallJson(platform.disk, `${options.directory}/${NAME}`, peersFile)
    const file: PeersFile = read.tag === 'read' ? read.value : { life: newLife(platform), peers: {} }
    const offMs = platform.clock.wall() - (file.saved_at ?? Number.POSITIVE_INFINITY)
    return new PeersGate(platform, options, offMs > options.keepMs ? { ...file, was_away: true } : file)
  }

  /** The highest version that was written down. */
  get version(): number {
    return this.#file.version ?? 0
  }

  /** Who this node is, for its requests to others. */
  headers(): Readonly<Record<string, string>> {
    return { [PEER_NODE]: this.#options.node, [LIFE]: this.#file.life, [COMPANY]: String(this.#company) }
  }

  /** Lets the request of another node in. `Conflict` `rejoin_empty` if what it holds cannot be believed. */
  admit(headers: PeerHeaders): void {
    const node = headers.get(PEER_NODE)
    const life = headers.get(LIFE)
    if (node === undefined || life === undefined) return
    const known = this.#file.peers[node]
    if (known?.is_expired !== true || known.life !== life) {
      if (known?.life !== life || known.is_expired)
        this.#set(node, { ...(known ?? UNKNOWN), life, away_ms: 0, is_expired: false })
      return
    }
    const company = Number(headers.get(COMPANY) ?? 0)
    const isTheirs = company > this.#company || (company === this.#company && node < this.#options.node)
    // They count this node out as well, and are in the right: they will say so when they are asked.
    if (isTheirs) return
    const detail = `${node} was away for longer than deletes are remembered; it has to come back empty.`
    throw new CairnError('Conflict', detail, { code: 'rejoin_empty' })
  }

  /** A peer has answered. */
  reached(node: string): void {
    const known = this.#file.peers[node]
    if (known?.is_expired === true || known?.away_ms === 0) return
    this.#set(node, { ...(known ?? UNKNOWN), away_ms: 0, is_expired: false })
  }

  /**
   * A peer has answered at its URL and says that it signs with this key. `wrong_peer` if the configuration names another;
   * without one the key it shows first is learnt, and a later one beside it.
   */
  introduced(node: string, key: string): void {
    const configured = this.#options.keys.get(node)
    if (configured !== undefined && configured !== key) {
      const detail = `${node} signs with the key ${key}, and storage.peers names ${configured}.`
      throw new CairnError('Internal', detail, { code: 'wrong_peer' })
    }
    const known = this.#file.peers[node] ?? UNKNOWN
    const { keys = [] } = known
    if (configured !== undefined || keys[0] === key) return
    if (keys.length > 0) this.#platform.log.warn({ node, key }, 'a peer signs with another key than before')
    this.#set(node, { ...known, keys: [key, ...keys.filter((each) => each !== key)].slice(0, KEYS_MAX) })
    this.#savedAt = Number.NEGATIVE_INFINITY
  }

  /** Whether a member signs, or has signed, with this key. */
  isMember(key: string): boolean {
    return this.#options.peers.some((node) => {
      const configured = this.#options.keys.get(node)
      return configured === undefined ? this.#file.peers[node]?.keys?.includes(key) === true : configured === key
    })
  }

  isExpired(node: string): boolean {
    return this.#file.peers[node]?.is_expired === true
  }

  /** Time passes; those that were not reached in it were away. */
  async tick(isUp: (node: string) => boolean, version: number): Promise<void> {
    const now = this.#platform.clock.now()
    const passedMs = now - this.#tickedAt
    this.#tickedAt = now
    for (const node of this.#options.peers) {
      if (isUp(node)) {
        this.reached(node)
        continue
      }
      const known = this.#file.peers[node] ?? UNKNOWN
      const awayMs = known.away_ms + passedMs
      const isExpired = known.is_expired || awayMs > this.#options.keepMs
      if (isExpired && !known.is_expired)
        this.#platform.log.warn({ node }, 'a peer was away for too long to be believed')
      this.#set(node, { ...known, away_ms: awayMs, is_expired: isExpired })
    }
    this.#file = { ...this.#file, version }
    if (2 * this.#expired.length > this.#options.peers.length) this.#file = { ...this.#file, was_away: true }
    if (now - this.#savedAt >= SAVE_MS) await this.#save()
  }

  /** Whether this node has to come back empty, given which peers say that it was away for too long. */
  mustBeginEmpty(saidBy: ReadonlySet<string>): boolean {
    const { was_away: wasAway = false } = this.#file
    return mustBeginEmpty({ wasAway, peers: this.#options.peers, lost: this.#expired }, saidBy)
  }

  get #expired(): readonly string[] {
    return this.#options.peers.filter((node) => this.isExpired(node))
  }

  /** This node has begun empty: it learns from the others, whatever it thought of them. */
  async renew(): Promise<void> {
    const peers = Object.entries(this.#file.peers).map(([node, known]) => [node, { ...known, is_expired: false }])
    const { version } = this.#file
    this.#file = { life: newLife(this.#platform), version, peers: Object.fromEntries(peers) as PeersFile['peers'] }
    await this.#save()
  }

  async close(): Promise<void> {
    if (this.#options.peers.length > 0) await this.#save()
  }

  /** This node and those it has not counted out. */
  get #company(): number {
    return 1 + this.#options.peers.length - this.#expired.length
  }

  #set(node: string, state: PeerState): void {
    if (!this.#options.peers.includes(node)) return
    const isTurn = this.#file.peers[node]?.is_expired !== state.is_expired
    this.#file = { ...this.#file, peers: { ...this.#file.peers, [node]: state } }
    // What decides about copies is written down at the next tick, not in a minute.
    if (isTurn) this.#savedAt = Number.NEGATIVE_INFINITY
  }

  async #save(): Promise<void> {
    this.#savedAt = this.#platform.clock.now()
    try {
      const file = { ...this.#file, saved_at: this.#platform.clock.wall() }
      await replaceSmallJson(this.#platform.disk, `${this.#options.directory}/${NAME}`, file)
    } catch (error) {
      this.#platform.log.warn({ error }, 'what is known of the peers was not written down')
    }
  }
}

function newLife({ random }: Platform): string {
  return toHex(random.bytes(8))
}
