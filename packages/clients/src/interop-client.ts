/** Mailboxes, the audit and webhooks of interop, as the command line asks for them. */
import type { CallContext, Caller } from './caller.ts'
import {
  type AuditPage,
  type Hooks,
  type InteropAdoption,
  type LeasedMessage,
  type LeaseReceipt,
  type MailboxPage,
  readAdoption,
  readAuditPage,
  readHooks,
  readLeased,
  readMailPage,
  readReplayed,
  readWebhookAnswer,
  type WebhookAnswer,
} from './interop-answers.ts'
import { readNothing } from './response-body.ts'
import { followEvents, type ReceivedEvent } from './server-events.ts'

export interface PageRequest {
  /** Where the page before ended. */
  readonly after?: string | undefined
  /** 1 to 1000. */
  readonly limit: number
}

export interface InteropClient {
  /** The next message of the topic; nothing if none comes within so many seconds. Not repeated: each is a delivery. */
  lease(topic: string, waitSeconds: number, context: CallContext): Promise<LeasedMessage | undefined>
  /** Acknowledges the message; `Conflict` `lease_lost` for a consumer that no longer holds the lease. */
  ack(topic: string, receipt: LeaseReceipt, context: CallContext): Promise<void>
  /** Gives the message back, for another consumer. */
  nack(topic: string, receipt: LeaseReceipt, context: CallContext): Promise<void>
  /** Messages that are not dead, without taking any. */
  peek(topic: string, page: PageRequest, context: CallContext): Promise<MailboxPage>
  /** Dead letters. */
  dead(topic: string, page: PageRequest, context: CallContext): Promise<MailboxPage>
  /** Puts dead letters back, all or those named; says how many. */
  replay(topic: string, ids: readonly string[] | undefined, context: CallContext): Promise<number>
  /** Lines of the audit from `cursor` on, or from the oldest that is there. */
  audit(cursor: number | undefined, limit: number, context: CallContext): Promise<AuditPage>
  /** Who may send webhooks, where their secrets are, and what becomes of what they send. */
  hooks(context: CallContext): Promise<Hooks>
  /** Gives up what the journal of interop lost, so that it takes webhooks again. Not repeated by itself. */
  adopt(context: CallContext): Promise<InteropAdoption>
  /** Sends a webhook as a provider would; whatever is said to it is the answer. Never repeated. */
  webhook(
    provider: string,
    headers: Readonly<Record<string, string>>,
    body: Uint8Array,
    context: CallContext,
  ): Promise<WebhookAnswer>
  /** What happens from now on, until the deadline or the signal ends it; `onOpen` hears when it begins. */
  events(context: CallContext, onOpen: () => void): AsyncGenerator<ReceivedEvent>
}

/** Every status the route documents, and those of the pipeline before it. */
const WEBHOOK_ANSWERS = [400, 401, 403, 404, 405, 408, 413, 415, 429, 500, 502, 503, 504] as const

/** The client over HTTP or in process: the caller's transport decides. */
export function interopClient(caller: Caller): InteropClient {
  return { ...mailboxCalls(caller), ...bridgeCalls(caller) }
}

type BridgeCalls = Pick<InteropClient, 'audit' | 'hooks' | 'adopt' | 'webhook' | 'events'>

function bridgeCalls(caller: Caller): BridgeCalls {
  return {
    audit: async (cursor, limit, context) => {
      const path = `audit?limit=${limit}${cursor === undefined ? '' : `&cursor=${cursor}`}`
      const call = { operation: 'audit', method: 'GET', path, idempotent: true, scope: 'audit:read' } as const
      return await caller.call({ ...call, read: readAuditPage }, context)
    },
    hooks: async (context) => {
      const call = { operation: 'hooks', method: 'GET', path: 'webhooks', idempotent: true } as const
      return await caller.call({ ...call, scope: 'interop:admin', read: readHooks }, context)
    },
    adopt: async (context) => {
      const call = { operation: 'adopt', method: 'POST', path: 'admin/adopt', idempotent: false } as const
      return await caller.call({ ...call, scope: 'interop:admin', read: readAdoption }, context)
    },
    webhook: async (provider, headers, body, context) => {
      const path = `webhooks/${encodeURIComponent(provider)}`
      const call = { operation: 'webhook', method: 'POST', path, idempotent: false } as const
      return await caller.call({ ...call, headers, body, answers: WEBHOOK_ANSWERS, read: readWebhookAnswer }, context)
    },
    events: (context, onOpen) => followEvents(caller, context, onOpen),
  }
}

function mailboxCalls(caller: Caller): Omit<InteropClient, keyof BridgeCalls> {
  const settle = async (
    operation: 'ack' | 'nack',
    topic: string,
    receipt: LeaseReceipt,
    context: CallContext,
  ): Promise<void> => {
    const path = `${mailbox(topic)}/${encodeURIComponent(receipt.id)}/${operation}`
    // Not repeated: after one that went through unheard, a second would find the lease gone.
    const call = { ...posting(operation, path, receipt), idempotent: false, scope: 'mailbox:recv' } as const
    await caller.call({ ...call, read: readNothing }, context)
  }
  const listing = (operation: string, path: string, { after, limit }: PageRequest) => {
    const query = `?limit=${limit}${after === undefined ? '' : `&after=${encodeURIComponent(after)}`}`
    return { operation, method: 'GET', path: `${path}${query}`, idempotent: true, read: readMailPage } as const
  }
  return {
    lease: async (topic, waitSeconds, context) => {
      const path = `${mailbox(topic)}/lease${waitSeconds === 0 ? '' : `?wait=${waitSeconds}`}`
      const call = { operation: 'lease', method: 'POST', path, idempotent: false, scope: 'mailbox:recv' } as const
      return await caller.call({ ...call, read: readLeased }, context)
    },
    ack: async (topic, receipt, context) => {
      await settle('ack', topic, receipt, context)
    },
    nack: async (topic, receipt, context) => {
      await settle('nack', topic, receipt, context)
    },
    peek: async (topic, page, context) =>
      await caller.call({ ...listing('peek', mailbox(topic), page), scope: 'mailbox:recv' }, context),
    dead: async (topic, page, context) =>
      await caller.call({ ...listing('dead', `${mailbox(topic)}/dead`, page), scope: 'mailbox:admin' }, context),
    replay: async (topic, ids, context) => {
      const call = posting('replay', `${mailbox(topic)}/replay`, ids === undefined ? {} : { ids })
      return await caller.call({ ...call, idempotent: true, scope: 'mailbox:admin', read: readReplayed }, context)
    },
  }
}

function mailbox(topic: string): string {
  return `mailbox/${encodeURIComponent(topic)}`
}

function posting(operation: string, path: string, body: unknown) {
  const bytes = new TextEncoder().encode(JSON.stringify(body))
  return { operation, path, method: 'POST', headers: { 'content-type': 'application/json' }, body: bytes } as const
}
