/** What several routes take, in one place. */
import { address } from '@cairn/api'
import { z } from 'zod'

export const addressParams = z.strictObject({ address })

/** What a consumer may take from. */
const OPEN_TOPIC = /^[a-z0-9][a-z0-9._-]{0,63}$/
/** Those, and the ones whose messages this service applies itself. */
const ANY_TOPIC = /^@?[a-z0-9][a-z0-9._-]{0,63}$/

const TOPIC_FORM = 'must have 1 to 64 of a-z 0-9 . _ - and begin with a letter or digit'

export const openTopicParams = z.strictObject({ topic: z.string().regex(OPEN_TOPIC, TOPIC_FORM) })
export const anyTopicParams = z.strictObject({ topic: z.string().regex(ANY_TOPIC, TOPIC_FORM) })
export const messageParams = z.strictObject({
  topic: z.string().regex(OPEN_TOPIC, TOPIC_FORM),
  id: z.string().min(1).max(128),
})
