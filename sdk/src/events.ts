/** What happens in a service, as it happens. */
import { followEvents } from '@cairn/clients'
import { objectIn } from '@cairn/wire'
import { badAnswer } from './response-bytes.ts'
import type { ServiceName, Services } from './services.ts'
import type { AskOptions } from './upkeep.ts'

export interface ServiceEvent {
  /** To be given as `since`, to go on after this event. */
  readonly id: string
  /** `storage.ingest`, `registry.updated`, …; `gap` says that some are lost, and that the facts have to be asked for. */
  readonly topic: string
  readonly body: Readonly<Record<string, unknown>>
}

export interface EventsOptions extends AskOptions {
  /** Whose events (default storage). */
  readonly service?: ServiceName
  /** The id of the last event that was heard, to hear what came after it. */
  readonly since?: string | undefined
  /** Hears when the service listens: what happens from then on is told. */
  readonly onOpen?: () => void
}

/** Events over as many connections as it takes, until the signal. They are hints, and no event is told twice. */
export async function* events(services: Services, options: EventsOptions = {}): AsyncGenerator<ServiceEvent> {
  const { service = 'storage', since, onOpen = ignore, signal } = options
  const heard = followEvents(services.caller(service), services.following(signal), onOpen, since)
  for await (const { id, event, data } of heard) {
    const body = objectIn(data)
    if (body === undefined) throw badAnswer('has an event without a JSON object')
    yield { id, topic: event, body }
  }
}

function ignore(): void {}
