/**
 * `GET /registry/stream`: every version, as it is committed.
 *
 *     Last-Event-ID: 41 ──▶ 42, 43 … as far as they are kept, then what comes
 *                     └──▶ too far behind, or a slow reader skipped: `registry.compacted` with the head to read again
 */

import { type EventSource, eventFrame, eventStream, type RouteTable, route } from '@cairn/http'
import type { Subscription } from '@cairn/kernel'
import type { RegistryParts } from '../parts.ts'
import type { Update } from '../tasks/publisher.ts'

/** A client, or a proxy before it, that hears nothing for this long may think we are gone. */
const HEARTBEAT_MS = 5_000

export function streamRoute(parts: RegistryParts): RouteTable[number] {
  return route({
    method: 'GET',
    path: '/registry/stream',
    lane: 'inline',
    summary:
      'Versions as server-sent events (`registry.update`, id = version), from now on or after `Last-Event-ID`. `registry.compacted` says that some were skipped: read the head again.',
    responses: { 200: { description: 'Events until the client leaves.', mediaType: 'text/event-stream' } },
    errors: { Malformed: 400 },
    limits: { stream: true },
    handler: (context) => {
      const { runtime } = parts
      const after = lastSeen(context.headers.get('last-event-id'))
      return eventStream(runtime.clock, context, new VersionSource(parts, after), HEARTBEAT_MS)
    },
  })
}

/** Anything but a version is taken as none: a browser repeats whatever it was given, also by others. */
function lastSeen(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined
}

class VersionSource implements EventSource {
  readonly #parts: RegistryParts
  readonly #updates: Subscription<Update>
  /** The newest version the client knows of. */
  #version: number
  /** The client has missed some, and is to be told. */
  #isLost: boolean

  constructor(parts: RegistryParts, after: number | undefined) {
    const { updates, from, isWhole } = parts.publisher.subscribe(after)
    this.#parts = parts
    this.#updates = updates
    this.#version = from
    this.#isLost = !isWhole
    parts.runtime.metrics.count('registry_sse_clients_connected_total')
  }

  async next(signal: AbortSignal): Promise<Uint8Array | undefined> {
    for (;;) {
      if (this.#isLost) return this.#compacted()
      const heard = await this.#updates.recv({ signal })
      if (heard.tag === 'closed') return undefined
      if (heard.tag === 'lagged') this.#isLost = true
      else if (heard.value.version <= this.#version) continue
      else if (heard.value.version > this.#version + 1) this.#isLost = true
      else {
        this.#version = heard.value.version
        return heard.value.frame
      }
    }
  }

  close(): void {
    this.#updates[Symbol.dispose]()
    this.#parts.runtime.metrics.count('registry_sse_clients_disconnected_total')
  }

  #compacted(): Uint8Array {
    const { version, hash, payload_b3, committed_at } = this.#parts.published.value.head
    this.#isLost = false
    this.#version = version
    const data = JSON.stringify({ version, hash, payload_b3, committed_at })
    return eventFrame({ id: String(version), event: 'registry.compacted', data })
  }
}
