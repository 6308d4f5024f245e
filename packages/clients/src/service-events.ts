/**
 * What happens in a service, as it tells it at `/events`, over as many connections as it takes. Events are hints: `gap`
 * says that some are lost, and whoever hears it asks for the facts again.
 */
import { isKind, sleep } from '@cairn/kernel'
import type { IncomingBody, IncomingResponse } from '@cairn/platform'
import type { CallContext, Caller } from './caller.ts'
import { type ReceivedEvent, readEvents } from './server-events.ts'

/** One connection lives at most this long; the next goes on where it was. */
const CONNECTION_MS = 60 * 60 * 1000
/** Before trying again a server that took the connection and said nothing. */
const SILENT_WAIT_MS = 1000

/**
 * Every event from now on, or after the one that `since` names; ends with the deadline or the signal, by its error.
 * `onOpen` hears when the first connection listens.
 */
export async function* followEvents(
  caller: Caller,
  context: CallContext,
  onOpen: () => void,
  since?: string,
): AsyncGenerator<ReceivedEvent> {
  const { deadline, signal } = context
  let last = since
  let isFirst = true
  for (;;) {
    let isSilent = true
    const body = await connect(caller, last, { ...context, deadline: deadline.child(CONNECTION_MS) })
    if (isFirst) onOpen()
    isFirst = false
    for await (const event of untilBroken(body)) {
      isSilent = false
      last = event.id
      yield event
    }
    signal?.throwIfAborted()
    deadline.throwIfExpired('the events')
    if (isSilent) await sleep(deadline.clock, Math.min(SILENT_WAIT_MS, deadline.remaining()), { signal })
  }
}

async function connect(caller: Caller, last: string | undefined, context: CallContext): Promise<IncomingBody> {
  const headers = { accept: 'text/event-stream', ...(last === undefined ? {} : { 'last-event-id': last }) }
  const read = async ({ body }: IncomingResponse): Promise<IncomingBody> => await Promise.resolve(body)
  const ask = { operation: 'events', path: 'events', method: 'GET', idempotent: true, scope: 'events:read' } as const
  return await caller.call({ ...ask, headers, read }, context)
}

/** The events of one connection, until it ends: by the server, by its time, or by a network that failed. */
async function* untilBroken(body: IncomingBody): AsyncGenerator<ReceivedEvent> {
  try {
    yield* readEvents(body)
  } catch (error) {
    if (!isKind(error, 'Timeout')) throw error
  }
}
