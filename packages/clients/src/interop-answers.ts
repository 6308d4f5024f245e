/** What interop answers, read field by field. Fields we do not know are left aside: answers may grow. */
import type { IncomingResponse } from '@cairn/transport'
import type { Address } from '@cairn/wire'
import {
  address,
  amount,
  badAnswer,
  type JsonFields,
  objectOf,
  readNothing,
  readObject,
  readText,
  rows,
  text,
  texts,
} from './response-body.ts'

/** Proves who holds the lease of a message. */
export interface LeaseReceipt {
  readonly id: string
  /** How often the message has been delivered, this time included. */
  readonly attempt: number
  readonly nonce: string
}

export interface MailMessage {
  readonly id: string
  readonly topic: string
  /** Messages of one key come one after the other. */
  readonly key: string | undefined
  /** Unix milliseconds. */
  readonly sentAt: number
  readonly body: unknown
}

export interface LeasedMessage {
  readonly message: MailMessage
  readonly receipt: LeaseReceipt
  /** How long the lease lasts. */
  readonly visibilityMs: number
}

export interface MailboxMessage extends MailMessage {
  readonly attempts: number
  readonly state: string
}

export interface MailboxPage {
  readonly messages: readonly MailboxMessage[]
  /** The cursor of the next page; none after the last. */
  readonly next: string | undefined
}

export interface AuditPage {
  /** Each exactly as it was hashed. */
  readonly lines: readonly Uint8Array[]
  /** The line to ask for next. */
  readonly next: number
  /** The oldest line that is still there. */
  readonly first: number
  /** Lines the chain has had. */
  readonly count: number
  readonly head: Address
  /** The newest anchor, by the service's own word, and where in the registry's log it is. */
  readonly anchor: { readonly head: Address; readonly count: number; readonly logIndex: number } | undefined
}

/** What was lost and is given up, and the line of the audit that says so. */
export interface InteropAdoption {
  readonly lost: string
  readonly line: number
}

export async function readAdoption(response: IncomingResponse): Promise<InteropAdoption> {
  const fields = await readObject(response, ANSWER_BYTES_MAX)
  return { lost: text(fields, 'lost'), line: amount(fields, 'line') }
}

/** Who may send webhooks, and what becomes of them. */
export interface Hooks {
  readonly providers: readonly HookProvider[]
  /** How the generic provider signs, in the words of the configuration. */
  readonly generic: JsonFields
  readonly rules: readonly { readonly provider: string; readonly event: string; readonly effect: string }[]
}

export interface HookProvider {
  readonly name: string
  readonly isEnabled: boolean
  /** Where each is, `env:NAME` or `file:PATH`, and until when it counts, in Unix milliseconds. */
  readonly secrets: readonly { readonly id: string; readonly notAfterMs: number | undefined }[]
}

/** What the other side said to a webhook, whatever it was. */
export interface WebhookAnswer {
  readonly status: number
  readonly contentType: string
  readonly text: string
}

/** A page holds up to 1000 messages or lines. */
const PAGE_BYTES_MAX = 16 * 1024 * 1024
const ANSWER_BYTES_MAX = 1024 * 1024

export async function readLeased(response: IncomingResponse): Promise<LeasedMessage | undefined> {
  if (response.status === 204) {
    await readNothing(response)
    return undefined
  }
  const fields = await readObject(response, ANSWER_BYTES_MAX)
  const receipt = objectOf(fields['receipt'])
  return {
    message: message(objectOf(fields['message'])),
    receipt: { id: text(receipt, 'id'), attempt: amount(receipt, 'attempt'), nonce: text(receipt, 'nonce') },
    visibilityMs: amount(fields, 'visibility_ms'),
  }
}

export async function readMailPage(response: IncomingResponse): Promise<MailboxPage> {
  const fields = await readObject(response, PAGE_BYTES_MAX)
  const messages = rows(fields, 'messages').map((row) => ({
    ...message(row),
    attempts: amount(row, 'attempts'),
    state: text(row, 'state'),
  }))
  return { messages, next: fields['next'] === null ? undefined : text(fields, 'next') }
}

function message(fields: JsonFields): MailMessage {
  return {
    id: text(fields, 'id'),
    topic: text(fields, 'topic'),
    key: fields['key'] === null ? undefined : text(fields, 'key'),
    sentAt: amount(fields, 'sent_at'),
    body: fields['body'],
  }
}

export async function readReplayed(response: IncomingResponse): Promise<number> {
  return amount(await readObject(response, ANSWER_BYTES_MAX), 'replayed')
}

export async function readAuditPage(response: IncomingResponse): Promise<AuditPage> {
  const fields = await readObject(response, PAGE_BYTES_MAX)
  const encoder = new TextEncoder()
  const lines = texts(fields, 'lines').map((line) => encoder.encode(line))
  const next = amount(fields, 'next')
  if (lines.length > next) throw badAnswer('has more lines than there were')
  return {
    lines,
    next,
    first: amount(fields, 'first'),
    count: amount(fields, 'count'),
    head: address(fields, 'head'),
    anchor: fields['anchor'] === null ? undefined : anchor(objectOf(fields['anchor'])),
  }
}

function anchor(fields: JsonFields): AuditPage['anchor'] {
  return { head: address(fields, 'head'), count: amount(fields, 'count'), logIndex: amount(fields, 'log_index') }
}

export async function readHooks(response: IncomingResponse): Promise<Hooks> {
  const fields = await readObject(response, ANSWER_BYTES_MAX)
  return {
    providers: rows(fields, 'providers').map((row) => ({
      name: text(row, 'provider'),
      isEnabled: row['enabled'] === true,
      secrets: rows(row, 'secrets').map((secret) => ({
        id: text(secret, 'id'),
        notAfterMs: secret['not_after'] === null ? undefined : amount(secret, 'not_after'),
      })),
    })),
    generic: objectOf(fields['generic']),
    rules: rows(fields, 'rules').map((row) => ({
      provider: text(row, 'provider'),
      event: text(row, 'event'),
      effect: text(row, 'effect'),
    })),
  }
}

export async function readWebhookAnswer(response: IncomingResponse): Promise<WebhookAnswer> {
  const contentType = response.headers['content-type'] ?? ''
  return { status: response.status, contentType, text: await readText(response, ANSWER_BYTES_MAX) }
}
