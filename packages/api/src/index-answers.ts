/** What the index answers. */
import * as z from 'zod/mini'

const count = z.int().check(z.minimum(0))

/** What a key stands for. */
export const resolution = z.object({
  key: z.string(),
  kind: z.enum(['cid', 'name']),
  manifest_cid: z.string(),
  source: z.enum(['cache', 'registry', 'db', 'dht']),
  integrity: z.object({ algo: z.literal('blake3'), digest: z.string() }),
  etag: z.string(),
  /** Seconds since the index last made sure. */
  freshness_s: count,
  /** How many providers the index knows of. */
  providers_hint: count,
  /** Of a name that a registry vouches for: its proof file, as text. */
  proof: z.optional(z.string()),
})

const provider = z.object({
  id: z.string(),
  /** Where its objects are to be had; none where only its id is known. */
  http: z.array(z.string()),
  region: z.optional(z.string()),
  class: z.enum(['region_match', 'fresh', 'any', 'unverified']),
  /** 0 to 1. */
  score: z.number(),
  last_seen_s: count,
})

export const providerSet = z.object({
  cid: z.string(),
  /** Best first. */
  providers: z.array(provider),
  /** How the lookup went; absent where no peer was asked. */
  hedge: z.optional(
    z.object({ alpha_ms: count, beta_ms: z.optional(count), winner: z.enum(['alpha', 'beta', 'tie']) }),
  ),
})

/** As IPFS Delegated Routing v1 has it. */
export const delegatedProviders = z.object({
  Providers: z.array(
    z.object({
      Schema: z.literal('peer'),
      ID: z.string(),
      Addrs: z.array(z.string()),
      Protocols: z.array(z.string()),
      /** The signed record of the provider, base64url. */
      'cairn-provider': z.optional(z.string()),
    }),
  ),
})

export const searchPage = z.object({
  query: z.string(),
  results: z.array(z.object({ key: z.string(), cid: z.string(), score: z.number() })),
  limit: count,
  offset: count,
  total_estimate: count,
  has_more: z.boolean(),
  next_offset: z.optional(count),
})
