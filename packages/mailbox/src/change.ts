/**
 * What can become of a message, as it is written down. A mailbox is the fold of its changes; leases are not among them,
 * so a restart voids every lease and loses nothing.
 *
 *     message ─▶ delivery 1 ─▶ delivery 2 ─▶ … ─▶ ack            the last delivery unanswered: a dead letter
 *                                                  replay ─▶ it begins again, under the id it had
 *     carry: all of the above in one, written again so that the segment it lay in can go
 */
import { CairnError } from '@cairn/kernel'

export interface Message {
  /** The sender's: a second message with this id is the first one. */
  readonly id: string
  readonly topic: string
  /** Messages of one topic with the same key are delivered one after the other, in order. */
  readonly key: string | undefined
  /** JSON, which the mailbox does not look into. */
  readonly body: string
  /** Wall clock, Unix milliseconds. */
  readonly sentAt: number
}

export type MailboxChange =
  | { readonly tag: 'message'; readonly message: Message }
  | { readonly tag: 'delivery'; readonly id: string; readonly attempt: number }
  | { readonly tag: 'ack'; readonly id: string }
  | { readonly tag: 'replay'; readonly id: string }
  | { readonly tag: 'carry'; readonly message: Message; readonly place: number; readonly attempts: number }

/** A change as JSON, short: the first element says which. */
export type ChangeJson = readonly [tag: string, ...fields: readonly (string | number | null)[]]

export function encodeChange(change: MailboxChange): ChangeJson {
  switch (change.tag) {
    case 'message':
      return ['m', ...messageFields(change.message)]
    case 'delivery':
      return ['d', change.id, change.attempt]
    case 'ack':
      return ['a', change.id]
    case 'replay':
      return ['r', change.id]
    case 'carry':
      return ['c', ...messageFields(change.message), change.place, change.attempts]
  }
}

/** The change these fields say; `Integrity` where they say none. */
export function decodeChange(json: unknown): MailboxChange {
  if (!Array.isArray(json)) throw unreadable()
  const fields: readonly unknown[] = json
  const [tag, id] = fields
  switch (tag) {
    case 'm':
      return { tag: 'message', message: readMessage(fields) }
    case 'd':
      return { tag: 'delivery', id: text(id), attempt: number(fields[2]) }
    case 'a':
      return { tag: 'ack', id: text(id) }
    case 'r':
      return { tag: 'replay', id: text(id) }
    case 'c':
      return { tag: 'carry', message: readMessage(fields), place: number(fields[6]), attempts: number(fields[7]) }
    default:
      throw unreadable()
  }
}

function messageFields({ id, topic, key, body, sentAt }: Message): (string | number | null)[] {
  return [id, topic, key ?? null, body, sentAt]
}

function readMessage([, id, topic, key, body, sentAt]: readonly unknown[]): Message {
  return {
    id: text(id),
    topic: text(topic),
    key: key === null ? undefined : text(key),
    body: text(body),
    sentAt: number(sentAt),
  }
}

function text(value: unknown): string {
  if (typeof value !== 'string') throw unreadable()
  return value
}

function number(value: unknown): number {
  if (typeof value !== 'number') throw unreadable()
  return value
}

function unreadable(): CairnError {
  return new CairnError(
    'Integrity',
    'A record of the mailbox says nothing that is known here; it was written by another program.',
  )
}
