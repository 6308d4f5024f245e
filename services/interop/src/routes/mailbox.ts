/** `/mailbox`: messages out, one consumer at a time each. */

import { interopAnswers } from '@cairn/api'
import { empty, json, type RequestHead, type RouteTable, route } from '@cairn/http'
import { Cancel, isKind } from '@cairn/kernel'
import type { ListedMessage, Message } from '@cairn/mailbox'
import { z } from 'zod'
import { refusal } from '../errors.ts'
import type { InteropParts } from '../parts.ts'
import { INTEROP_TOPOLOGY } from '../topology.ts'
import { anyTopicParams, messageParams, openTopicParams } from './objects.ts'

const WAIT_SECONDS_MAX = INTEROP_TOPOLOGY.timeouts.long_poll.ms / 1000
const PAGE_MAX = 1000

const leaseQuery = z.strictObject({ wait: z.coerce.number().int().min(0).max(WAIT_SECONDS_MAX).optional() })
const pageQuery = z.strictObject({
  after: z
    .string()
    .regex(/^\d{1,15}$/, 'must be the `next` of the page before')
    .transform(Number)
    .optional(),
  limit: z.coerce.number().int().min(1).max(PAGE_MAX).default(100),
})
const receipt = z.strictObject({ id: z.string(), attempt: z.int().min(1), nonce: z.string() })
const replayForm = z.strictObject({ ids: z.array(z.string()).max(PAGE_MAX).optional() })

function waits({ queryText }: Pick<RequestHead, 'queryText'>): boolean {
  return new URLSearchParams(queryText).has('wait')
}

export function mailboxRoutes(parts: InteropParts): RouteTable {
  return [...consumerRoutes(parts), ...keeperRoutes(parts)]
}

function consumerRoutes({ mailbox, pressure }: InteropParts): RouteTable {
  const common = { method: 'POST', lane: 'inline', scope: 'mailbox:recv' } as const
  const settling = {
    ...common,
    params: messageParams,
    body: receipt,
    responses: { 204: { description: 'Done.' } },
    errors: { lease_lost: 409, DOWNSTREAM_UNAVAILABLE: 503, JOURNAL_LOST: 503 },
  } as const
  return [
    route({
      ...common,
      path: '/mailbox/:topic/lease',
      summary: `The next message, for this consumer alone as long as its lease lasts. \`?wait=\` up to ${WAIT_SECONDS_MAX} s for one.`,
      params: openTopicParams,
      query: leaseQuery,
      limits: { stream: waits },
      responses: {
        200: {
          description: 'A message and the receipt for it.',
          schema: interopAnswers.leasedMessage,
        },
        204: { description: 'There is none now.' },
      },
      errors: { DOWNSTREAM_UNAVAILABLE: 503, JOURNAL_LOST: 503 },
      handler: async ({ params, query, signal, draining }) =>
        await pressure.watched(async () => {
          using cancel = new Cancel({ signals: [signal, draining] })
          const waitMs = (query.wait ?? 0) * 1000
          try {
            const leased = await mailbox.lease(params.topic, { waitMs, signal: cancel.signal })
            if (leased === undefined) return empty(204)
            const { receipt: given, visibilityMs } = leased
            return json(200, { message: shown(leased.message), receipt: given, visibility_ms: visibilityMs })
          } catch (error) {
            // The wait ends with the service; nothing was taken.
            if (draining.aborted && isKind(error, 'Canceled')) return empty(204)
            throw error
          }
        }),
    }),
    route({
      ...settling,
      path: '/mailbox/:topic/:id/ack',
      summary: 'The message is done, durably. Only the holder of the lease can say so.',
      handler: async ({ params, body }) =>
        await pressure.watched(async () => {
          mustMatch(params.id, body.id)
          await mailbox.ack(params.topic, body)
          return empty(204)
        }),
    }),
    route({
      ...settling,
      path: '/mailbox/:topic/:id/nack',
      summary: 'Returns the message to the queue immediately.',
      handler: ({ params, body }) => {
        mustMatch(params.id, body.id)
        mailbox.nack(params.topic, body)
        return empty(204)
      },
    }),
  ]
}

function keeperRoutes({ mailbox }: InteropParts): RouteTable {
  const listing = {
    method: 'GET',
    lane: 'inline',
    params: anyTopicParams,
    query: pageQuery,
    responses: { 200: { description: 'In the order they came.', schema: interopAnswers.messagePage } },
  } as const
  return [
    route({
      ...listing,
      path: '/mailbox/:topic',
      scope: 'mailbox:recv',
      summary: 'Messages that are not dead, without taking any.',
      handler: ({ params, query }) => json(200, listed(mailbox.peek(params.topic, query), query.limit)),
    }),
    route({
      ...listing,
      path: '/mailbox/:topic/dead',
      scope: 'mailbox:admin',
      summary: 'Dead letters: messages that were delivered as often as they may be and never acknowledged.',
      handler: ({ params, query }) => json(200, listed(mailbox.dead(params.topic, query), query.limit)),
    }),
    route({
      method: 'POST',
      path: '/mailbox/:topic/replay',
      lane: 'inline',
      scope: 'mailbox:admin',
      summary: 'Puts dead letters back, all or those named; each keeps its id.',
      params: anyTopicParams,
      body: replayForm,
      responses: { 200: { description: 'How many.', schema: z.strictObject({ replayed: z.int() }) } },
      errors: { DOWNSTREAM_UNAVAILABLE: 503, JOURNAL_LOST: 503 },
      handler: async ({ params, body }) => json(200, { replayed: await mailbox.replay(params.topic, body.ids) }),
    }),
  ]
}

function mustMatch(inPath: string, inReceipt: string): void {
  if (inPath !== inReceipt) throw refusal('MALFORMED', 'The receipt is for another message than the path names.')
}

function shown({ id, topic, key, body, sentAt }: Message) {
  const facts: unknown = JSON.parse(body)
  return { id, topic, key: key ?? null, sent_at: sentAt, body: facts }
}

function listed(messages: readonly ListedMessage[], limit: number) {
  const last = messages.length < limit ? undefined : messages.at(-1)
  return {
    messages: messages.map(({ message: each, attempts, state }) => ({ ...shown(each), attempts, state })),
    next: last === undefined ? null : String(last.place),
  }
}
