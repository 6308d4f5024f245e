/**
 * Follows the events of a service, and parses server-sent events from bytes that may be cut anywhere, even inside a
 * character or between the two bytes of a line end. The size of one event is bounded.
 */
import { isKind, sleep } from '@cairn/kernel'
import type { IncomingBody, IncomingResponse } from '@cairn/transport'
import type { CallContext, Caller } from './caller.ts'
import { badAnswer } from './response-body.ts'

/** One connection lives at most this long; the next goes on where it was. */
const CONNECTION_MS = 60 * 60 * 1000
/** The pause before a server that accepted the connection and sent nothing is tried again. */
const SILENT_WAIT_MS = 1000

/**
 * Yields every event of a service's `/events` from now on, or after the one that `since` names, over as many
 * connections as it takes; ends with the error of the deadline or the signal. `onOpen` is called once the first
 * connection listens. Events are hints: `gap` says that some are lost, and its receiver asks for the facts again.
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

export interface ReceivedEvent {
  /** The last id heard so far, of this event or an earlier one. */
  readonly id: string
  /** `message` where the event has no name. */
  readonly event: string
  readonly data: string
}

/** Characters of one event, its comments and unknown fields included. Ours have a few hundred. */
const EVENT_CHARACTERS_MAX = 64 * 1024

const LINE_END = /\r\n|\n|\r(?=.|\n)/s

/** The events of a body, each once its empty line is there; one that is cut off at the end does not count. */
export async function* readEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<ReceivedEvent> {
  const draft = new EventDraft()
  // The decoder swallows a byte order mark, which the format allows at the start.
  const decoder = new TextDecoder()
  let rest = ''
  for await (const piece of body) {
    rest += decoder.decode(piece, { stream: true })
    for (let end = LINE_END.exec(rest); end !== null; end = LINE_END.exec(rest)) {
      const event = draft.take(rest.slice(0, end.index))
      rest = rest.slice(end.index + end[0].length)
      if (event !== undefined) yield event
    }
    if (draft.characters + rest.length > EVENT_CHARACTERS_MAX) throw tooLong()
  }
}

class EventDraft {
  characters = 0
  #id = ''
  #event = ''
  #data: string[] = []

  /** Takes one line; gives the event that it completes. */
  take(line: string): ReceivedEvent | undefined {
    if (line === '') return this.#complete()
    this.characters += line.length
    if (this.characters > EVENT_CHARACTERS_MAX) throw tooLong()
    const colon = line.indexOf(':')
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'data') this.#data.push(value)
    else if (field === 'event') this.#event = value
    else if (field === 'id' && !value.includes('\0')) this.#id = value
    return undefined
  }

  #complete(): ReceivedEvent | undefined {
    const [data, event] = [this.#data, this.#event]
    this.#data = []
    this.#event = ''
    this.characters = 0
    if (data.length === 0) return undefined
    return { id: this.#id, event: event === '' ? 'message' : event, data: data.join('\n') }
  }
}

function tooLong(): Error {
  return badAnswer(`has an event of more than ${EVENT_CHARACTERS_MAX} characters`)
}
