/** What the node itself answers. */
import * as z from 'zod/mini'

const count = z.int().check(z.minimum(0))
const texts = z.array(z.string())

export const nodeStatus = z.object({
  version: z.string(),
  pid: count,
  uptime_ms: z.number(),
  urls: texts,
  data: z.string(),
  /** Whether the data outlives the process. */
  kept: z.boolean(),
  ready: z.boolean(),
  services: z.array(
    z.object({
      name: z.string(),
      urls: texts,
      ready: z.boolean(),
      missing: texts,
      /** What is wrong although it serves, a sentence each. */
      concerns: texts,
      /** What harms nothing that is served; absent if there is nothing. */
      notices: z.optional(texts),
      summary: z.string(),
    }),
  ),
  /** Services of other processes that those of this one call. */
  elsewhere: z.array(z.object({ name: z.string(), url: z.string(), ready: z.boolean(), why: z.string() })),
})

/** A key with the value in force: of any type, as the table of keys says. */
export const configKeys = z.array(
  z.object({ key: z.string(), value: z.optional(z.unknown()), origin: z.string(), reload: z.string() }),
)

export const reloaded = z.object({
  tag: z.literal('reloaded'),
  changes: z.array(z.object({ key: z.string(), reload: z.string(), origin: z.string() })),
  pendingRestart: texts,
})

/** Root keys, without the secrets. */
export const rootKeys = z.array(z.object({ kid: z.string(), state: z.string(), not_after: z.nullable(z.number()) }))

/** The code of a sign-in to the console: it works once. */
export const signInCode = z.object({ code: z.string(), expires_in_s: count, url: z.string() })

const session = {
  id: z.string(),
  /** Unix milliseconds. */
  since: count,
  last_used: count,
  expires_at: count,
  /** Who it may act as: all of the node, or what the token it was opened with allows. */
  by: z.enum(['code', 'token']),
}

/** A new session: the cookie is one half of what opens it, `proof` the other, sent as a header. */
export const openedSession = z.object({ ...session, proof: z.string() })
export const currentSession = z.object(session)
export const sessions = z.array(z.object(session))
