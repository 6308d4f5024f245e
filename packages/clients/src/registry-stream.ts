/**
 * The registry's stream of versions, over as many connections as it takes.
 *
 *     connection 1   5 6 7 ✕                    each connection continues after the last version received,
 *     connection 2         └─▶ 8 9 ✕            so that none is missed and none comes twice
 *     connection 3               └─▶ compacted: HEAD is 4012
 */
import { isKind, sleep } from '@cairn/kernel'
import type { IncomingBody, IncomingResponse } from '@cairn/transport'
import { parseJson } from '@cairn/wire'
import type { CallContext, Caller } from './caller.ts'
import { type StreamedVersion, streamedVersion } from './registry-answers.ts'
import { readEvents } from './server-events.ts'

export type RegistryEvent =
  | { readonly tag: 'update'; readonly facts: StreamedVersion }
  /** Versions were skipped: what one knows of the registry has to be read again, as of `head`. */
  | { readonly tag: 'compacted'; readonly head: StreamedVersion }

/** One connection lives at most this long; the next goes on where it was. */
const CONNECTION_MS = 60 * 60 * 1000
/** Before trying again a server that took the connection and said nothing. */
const SILENT_WAIT_MS = 1000

/** Every version after `after`, or from now on; ends with the deadline or the signal, by its error. */
export async function* followUpdates(
  caller: Caller,
  after: number | undefined,
  context: CallContext,
): AsyncGenerator<RegistryEvent> {
  const { deadline, signal } = context
  let last = after
  for (;;) {
    let isSilent = true
    const body = await connect(caller, last, { ...context, deadline: deadline.child(CONNECTION_MS) })
    for await (const event of eventsOf(body)) {
      isSilent = false
      const { version } = event.tag === 'update' ? event.facts : event.head
      if (last !== undefined && version <= last) continue
      yield last !== undefined && event.tag === 'update' && version > last + 1
        ? { tag: 'compacted', head: event.facts }
        : event
      last = version
    }
    deadline.throwIfExpired('the stream of the registry')
    if (isSilent) await sleep(deadline.clock, Math.min(SILENT_WAIT_MS, deadline.remaining()), { signal })
  }
}

async function connect(caller: Caller, last: number | undefined, context: CallContext): Promise<IncomingBody> {
  const headers = { accept: 'text/event-stream', ...(last === undefined ? {} : { 'last-event-id': String(last) }) }
  const read = async ({ body }: IncomingResponse): Promise<IncomingBody> => await Promise.resolve(body)
  const call = { operation: 'stream', path: 'registry/stream', method: 'GET', idempotent: true, headers, read } as const
  return await caller.call(call, context)
}

/** The events of one connection, until it ends: by the server, by its time, or by a network that failed. */
async function* eventsOf(body: IncomingBody): AsyncGenerator<RegistryEvent> {
  try {
    for await (const { event, data } of readEvents(body)) {
      if (event !== 'registry.update' && event !== 'registry.compacted') continue
      const facts = streamedVersion(parseJson(new TextEncoder().encode(data)))
      yield event === 'registry.update' ? { tag: 'update', facts } : { tag: 'compacted', head: facts }
    }
  } catch (error) {
    // The connection broke or timed out, the caller did not: it continues on another one.
    if (!isKind(error, 'Timeout')) throw error
  }
}
