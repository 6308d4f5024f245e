/** What interop answers. */
import * as z from 'zod/mini'

const count = z.int().check(z.minimum(0))

/** What a message says of the webhook it is of. */
const webhookFacts = z.object({
  webhook: z.string(),
  provider: z.string(),
  event: z.string(),
  delivery: z.string(),
  /** Where the body of the webhook is stored. */
  address: z.string(),
  bytes: count,
  content_type: z.string(),
  received_at: z.number(),
  corr_id: z.string(),
  /** The name to propose, or the URL to forward to. */
  target: z.optional(z.string()),
})

const message = {
  id: z.string(),
  topic: z.string(),
  /** Messages of one key are delivered one after the other. */
  key: z.nullable(z.string()),
  sent_at: z.number(),
  body: webhookFacts,
}

export const receipt = z.object({ id: z.string(), attempt: count, nonce: z.string() })

export const leasedMessage = z.object({ message: z.object(message), receipt, visibility_ms: count })

export const messagePage = z.object({
  messages: z.array(z.object({ ...message, attempts: count, state: z.enum(['ready', 'leased', 'dead']) })),
  next: z.nullable(z.string()),
})
