/** `POST /webhooks/:provider`: bodies read and judged byte for byte, before anything of theirs takes a place in line. */

import { json, type RequestContext, type RouteTable, route } from '@cairn/http'
import type { CairnError, Deadline } from '@cairn/kernel'
import { abortable, type IngressResponse } from '@cairn/transport'
import { z } from 'zod'
import type { VerificationSlot } from '../domain/verification-gate.ts'
import type { Webhook } from '../domain/webhook.ts'
import { noSuchProvider, refusal, shed } from '../errors.ts'
import { type InteropParts, requireWhole } from '../parts.ts'
import type { Verified, WebhookProvider } from '../providers/provider.ts'

export const WEBHOOK_PATH = '/webhooks/:provider'
/** The most any provider may be allowed. */
const BODY_BYTES_MAX = 25 * 1024 * 1024
const OCTETS = 'application/octet-stream'

const params = z.strictObject({ provider: z.string().meta({ pattern: '^[\\w-]{1,64}$' }) })
type WebhookContext = RequestContext<{ readonly provider: string }, unknown, Uint8Array>

const accepted = z.strictObject({
  accepted: z.literal(true),
  address: z.string(),
  duplicate: z.literal(true).optional(),
  corr_id: z.string(),
})

export function webhookRoutes(parts: InteropParts): RouteTable {
  return [
    route({
      method: 'POST',
      path: WEBHOOK_PATH,
      lane: 'inline',
      summary: 'A webhook. 202 means: the signature is right, and body, messages and audit line are durable.',
      params,
      body: 'bytes',
      // The handler reads the body itself: how much may come is the provider's, and each address has its share.
      // The gate bounds what is read at once; the rate is that of genuine ones, so it is judged after the signature.
      limits: { stream: true, streamBytes: BODY_BYTES_MAX, admission: 'handler' },
      responses: {
        200: { description: 'What the provider expects of a handshake.' },
        202: { description: 'Accepted, now or before.', schema: accepted },
      },
      errors: {
        UNAUTH: 401,
        BAD_ORIGIN: 400,
        MALFORMED: 400,
        POLICY_BLOCKED: 403,
        BODY_LIMIT: 413,
        RATE_LIMIT: 429,
        BACKPRESSURE: 503,
        DOWNSTREAM_UNAVAILABLE: 503,
        JOURNAL_LOST: 503,
      },
      handler: async (context) => await parts.pressure.watched(async () => await receive(parts, context)),
    }),
  ]
}

async function receive(parts: InteropParts, context: WebhookContext): Promise<IngressResponse> {
  const name = context.params.provider
  const provider = parts.providers.get(name)
  if (provider === undefined) throw noSuchProvider(name)
  requireWhole(parts)
  // A sender that tries again by itself loses nothing; one that does not is taken as long as there is room.
  if (parts.pressure.isBrown && provider.retries) throw shed('A webhook of this provider')
  return await accept(parts, provider, await readVerified(parts, provider, context), context)
}

interface VerifiedBody {
  readonly body: Uint8Array
  readonly verified: Verified
}

/** One seat of its address from the first byte of the body to the verdict. */
async function readVerified(
  parts: InteropParts,
  provider: WebhookProvider,
  context: WebhookContext,
): Promise<VerifiedBody> {
  using seat = parts.gate.enter(context.clientAddress)
  const body = await readWhole(context, provider.maxBodyBytes, seat)
  const { raw } = context.headers
  const headers: (readonly [string, string])[] = []
  for (let at = 0; at + 1 < raw.length; at += 2) headers.push([(raw[at] ?? '').toLowerCase(), raw[at + 1] ?? ''])
  const nowMs = parts.runtime.clock.wall()
  const verdict = provider.verify({ headers, body, nowMs, peer: context.clientAddress })
  const result = verdict.tag === 'verified' ? 'ok' : 'fail'
  parts.runtime.metrics.count('webhook_verify_total', { provider: provider.name, result })
  if (verdict.tag === 'refused') throw refusal(verdict.reason, verdict.detail)
  parts.rate.take()
  return { body, verified: verdict }
}

async function readWhole(
  { stream, headers }: WebhookContext,
  bytesMax: number,
  seat: VerificationSlot,
): Promise<Uint8Array> {
  if (Number(headers.get('content-length') ?? 0) > bytesMax) throw bodyLimit(bytesMax)
  const pieces: Uint8Array[] = []
  const reading = stream?.[Symbol.asyncIterator]()
  if (reading === undefined) return new Uint8Array(0)
  let length = 0
  try {
    for (;;) {
      const step = await abortable(seat.left, reading.next())
      if (step.done === true) break
      const piece = step.value
      length += piece.length
      if (length > bytesMax) throw bodyLimit(bytesMax)
      seat.grow(piece.length)
      // A piece is good until the next is asked for; a Buffer's own slice would be the same memory.
      pieces.push(new Uint8Array(piece))
    }
  } catch (error) {
    // Not waited for: a sender who must leave may never send another byte.
    reading.return?.().catch(ignore)
    throw error
  }
  return pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : joined(pieces, length)
}

function joined(pieces: readonly Uint8Array[], length: number): Uint8Array {
  const whole = new Uint8Array(length)
  let at = 0
  for (const piece of pieces) {
    whole.set(piece, at)
    at += piece.length
  }
  return whole
}

function ignore(): void {}

function bodyLimit(bytesMax: number): CairnError {
  return refusal('BODY_LIMIT', `A webhook of this provider has at most ${bytesMax} bytes.`)
}

async function accept(
  parts: InteropParts,
  provider: WebhookProvider,
  judged: VerifiedBody,
  context: WebhookContext,
): Promise<IngressResponse> {
  const { corrId, signal } = context
  const webhook: Webhook = {
    provider: provider.name,
    ...judged,
    contentType: context.headers.get('content-type') ?? OCTETS,
    corrId,
    receivedAt: Math.floor(parts.runtime.clock.wall()),
  }
  // A stream has no budget of its own; from here on this is a request like any other.
  const deadline: Deadline = context.deadline.child(parts.config().ingress.request_timeout)
  const bounds = { deadline, signal }
  const { reply } = judged.verified
  if (reply !== undefined) {
    await parts.work.webhook(async () => await parts.receiver.greet(webhook), bounds)
    return { status: reply.status, headers: ['Content-Type', reply.contentType], body: reply.body }
  }
  const call = { deadline, corrId, signal }
  const { address, isDuplicate } = await parts.work.webhook(
    async () => await parts.receiver.receive(webhook, call),
    bounds,
  )
  return json(202, { accepted: true, address, ...(isDuplicate ? { duplicate: true } : {}), corr_id: corrId })
}
