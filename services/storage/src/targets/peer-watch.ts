/** Looks after the peers: who is there, who was away for too long, and whether this node was. */
import { type Breakers, Deadline, sleep } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'
import type { Drives } from './drives.ts'
import type { PeerTarget } from './peer-target.ts'
import type { PeersGate } from './peers-gate.ts'

/** What a peer may take to say whether it is there, tries included; requests that carry bytes have `peer_timeout`. */
const ANSWER_MS = 1000
/** How soon a peer that goes or comes back is noticed. */
const PROBE_MS = 1000

export interface PeerWatchOptions {
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
