/**
 * `GET /events`: what happens in a service, as it happens.
 *
 *     ring of the bus    │ 41 │ 42 │ 43 │ 44 │ ·            an event's id: the life of the service, its place
 *                              ▲
 *                 since=k3x9-42 goes on with 43             since=k3x9-7, or of another life: `gap`, then 41 …
 *
 * Events are hints: whoever hears `gap`, after an absence or because it reads too slowly, asks for the facts again.
 */
import { CairnError, type Clock, type EventBus } from '@cairn/kernel'
import { z } from 'zod'
import { eventFrame, eventStream } from './event-stream.ts'
import { type Route, route } from './route.ts'

const ID = /^([0-9a-z]{1,7})-(\d{1,15})$/

/** A place in the stream of one life of the service: after its `place`th event. */
interface Since {
  readonly life: string
  readonly place: number
}

/** The row every service has in its table. */
export function eventsRoute(clock: Clock, bus: EventBus): Route {
  return route({
    method: 'GET',
    path: '/events',
    lane: 'inline',
    scope: 'events:read',
    summary:
      'What happens, as server-sent events, from now on or after the event `since` (or `Last-Event-ID`) names; `gap` says that some are lost.',
    query: z.strictObject({ since: z.string().optional() }),
    responses: { 200: { description: 'Events until the client leaves.', mediaType: 'text/event-stream' } },
    limits: { stream: true },
    handler: (context) => {
      // A browser that comes back repeats the address it was given first; the header knows better.
      const opening = openingOf(bus, sinceOf(context.headers.get('last-event-id') ?? context.query.since))
      const subscription = bus.subscribe(opening.place)
      let first: Uint8Array | undefined = opening.frame
      return eventStream(clock, context, {
        next: async (signal) => {
          if (first !== undefined) {
            const frame = first
            first = undefined
            return frame
          }
          const heard = await subscription.recv({ signal })
          if (heard.tag === 'closed') return undefined
          const id = idOf(bus, subscription.place)
          if (heard.tag === 'lagged') return gapFrame(id, heard.missed)
          return eventFrame({ id, event: heard.value.topic, data: JSON.stringify(heard.value.body) })
        },
        close: () => subscription[Symbol.dispose](),
      })
    },
  })
}

/** Where the stream begins, and its first frame: it tells a client its place even if nothing ever happens. */
function openingOf(bus: EventBus, since: Since | undefined): { readonly place: number; readonly frame: Uint8Array } {
  const { oldest, newest } = bus.kept()
  const isKnown = since === undefined || (since.life === bus.life && since.place <= newest)
  const place = isKnown ? Math.max(oldest, since?.place ?? newest) : oldest
  const id = idOf(bus, place)
  if (!isKnown) return { place, frame: gapFrame(id, null) }
  const missed = place - (since?.place ?? place)
  return { place, frame: missed === 0 ? eventFrame({ id }) : gapFrame(id, missed) }
}

/** `missed` is null where nobody can know how many: the service was started anew. */
function gapFrame(id: string, missed: number | null): Uint8Array {
  return eventFrame({ id, event: 'gap', data: JSON.stringify({ missed }) })
}

function idOf({ life }: EventBus, place: number): string {
  return `${life}-${place}`
}

function sinceOf(text: string | undefined): Since | undefined {
  if (text === undefined) return undefined
  const [, life, place] = ID.exec(text) ?? []
  if (life === undefined)
    throw new CairnError('Malformed', 'since and Last-Event-ID take the id of an event of this stream.')
  return { life, place: Number(place) }
}
