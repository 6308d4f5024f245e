/**
 * Tells the world what was committed: streams as frames encoded once, the bus as an event.
 *
 *     committed ─▶ publisher ─┬─▶ updates ─▶ every open stream
 *                             └─▶ events ─▶ `registry.updated`
 *
 * It may fall behind; the Committer does not notice. Then the newest version stands for those it missed, and streams
 * that see the gap tell their clients to read the head again.
 */

import { eventFrame } from '@cairn/http'
import { type Broadcast, type Bus, openBroadcast, type Subscription, type TaskBody, type Watching } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'
import type { RegistryEvents } from '../audit.ts'
import type { Published } from '../domain/published.ts'
import { REGISTRY_TOPOLOGY } from '../topology.ts'
import type { Committed } from './committer.ts'

/** A version as streams send it. */
export interface Update {
  readonly version: number
  readonly frame: Uint8Array
}

export interface PublisherParts {
  readonly committed: Broadcast<Committed>
  readonly published: Watching<Published>
  readonly events: Bus<RegistryEvents>
}

export class Publisher {
  readonly #platform: Platform
  readonly #parts: PublisherParts
  readonly #updates: Broadcast<Update>
  /** From before the first commit of this life, and over restarts of the task: nothing is missed between two. */
  readonly #subscription: Subscription<Committed>
  /** The newest version that was told. */
  #told: number

  constructor(platform: Platform, parts: PublisherParts) {
    this.#platform = platform
    this.#parts = parts
    this.#updates = openBroadcast(platform, REGISTRY_TOPOLOGY, 'updates')
    this.#subscription = parts.committed.subscribe(undefined, 'publisher')
    this.#told = parts.published.value.head.version
  }

  /**
   * Hears every version after `version`, or after the newest where that is not known. `isWhole` is false where some of
   * them are not kept any more, or where there is no such version.
   */
  subscribe(version: number | undefined): { updates: Subscription<Update>; from: number; isWhole: boolean } {
    const { published, capacity } = this.#updates.facts()
    const missed = this.#told - (version ?? this.#told)
    const isWhole = missed >= 0 && missed <= Math.min(published, capacity)
    const updates = this.#updates.subscribe(isWhole ? published - missed : published)
    return { updates, from: isWhole ? this.#told - missed : this.#told, isWhole }
  }

  readonly run: TaskBody = async ({ draining }) => {
    for (;;) {
      const heard = await this.#subscription.recv({ signal: draining })
      if (heard.tag === 'closed') return
      if (heard.tag === 'lagged') this.#platform.metrics.count('bus_overflow_dropped_total', {}, heard.missed)
      else this.#tell(heard.value)
    }
  }

  close(): void {
    this.#updates.close()
  }

  #tell(body: Committed): void {
    const { version, hash, payload_b3, committed_at, corr_id } = body
    const data = JSON.stringify({ version, hash, payload_b3, committed_at, corr_id })
    this.#told = version
    this.#updates.publish({ version, frame: eventFrame({ id: String(version), event: 'registry.update', data }) })
    const event = { version, hash, payload_b3, committed_at, corr_id }
    this.#parts.events.publish({ topic: 'registry.updated', body: event })
  }
}
