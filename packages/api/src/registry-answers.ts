/**
 * What the registry answers. Items, artifacts and proofs are documents with a format of their own, which `@cairn/names`
 * reads and verifies; a kind of item has some of the fields named here.
 */
import * as z from 'zod/mini'

const count = z.int().check(z.minimum(0))
const texts = z.array(z.string())

const signer = z.object({ id: z.string(), algo: z.enum(['ed25519', 'ml-dsa-44']), key: z.string() })

/** A name or a descriptor: its kind says which of the fields it has. */
const item = z.object({
  kind: z.enum(['name', 'service', 'node', 'region', 'upstream', 'signer_set']),
  id: z.string(),
  prev: z.nullable(z.string()),
  deleted: z.optional(z.literal(true)),
  manifest: z.optional(z.string()),
  mutable: z.optional(z.boolean()),
  type: z.optional(z.string()),
  endpoint: z.optional(z.string()),
  title: z.optional(z.string()),
  identity_key: z.optional(z.string()),
  addrs: z.optional(texts),
  region: z.optional(z.string()),
  route: z.optional(z.string()),
  url: z.optional(z.string()),
  m: z.optional(count),
  signers: z.optional(z.array(signer)),
})

const payload = z.object({ items: z.array(item), note: z.optional(z.string()) })

const terms = {
  proposal_id: z.string(),
  /** Unix milliseconds; from then on it takes no approvals and is not committed. */
  expires_at: count,
  supersede: z.optional(z.object({ of: z.string(), reason: z.string() })),
}

const proposal = { ...terms, signer_set_hash: z.string(), payload_b3: z.string() }

const approval = z.object({
  signer_id: z.string(),
  sig: z.string(),
  signed_at: z.optional(count),
  role: z.enum(['current', 'incoming']),
})

const quorum = z.object({
  m: count,
  n: count,
  approved: texts,
  missing: texts,
  /** Signers that a proposed signer set would add: each has to approve as well. */
  incoming: z.object({ approved: texts, missing: texts }),
  isMet: z.boolean(),
})

export const opened = z.object({
  proposal_id: z.string(),
  payload_b3: z.string(),
  /** UTF-8 of it is what each signer signs. */
  signing_input: z.string(),
  expires_at: count,
  quorum,
  log_index: count,
})

const summary = {
  version: count,
  hash: z.string(),
  payload_b3: z.string(),
  log_index: count,
  /** Unix milliseconds. */
  committed_at: count,
}

export const committed = z.object(summary)

export const approved = z.object({ status: z.literal('accepted'), approvals: count, quorum, log_index: count })

export const proposals = z.object({
  proposals: z.array(z.object({ ...proposal, log_index: count, items: count, quorum })),
  cursor: z.nullable(count),
})

/** Open or expired: all of it. Committed: the version it became. */
export const shownProposal = z.discriminatedUnion('status', [
  z.object({ status: z.literal('committed'), proposal_id: z.string(), ...summary }),
  z.object({
    status: z.enum(['open', 'expired']),
    ...proposal,
    payload,
    approvals: z.array(approval),
    log_index: count,
    signing_input: z.string(),
    quorum,
  }),
])

export const head = z.object({
  ...summary,
  origin: z.string(),
  /** Entries of the log below it were removed by retention. */
  minimum_index: count,
})

export const artifact = z.object({
  schema: z.literal('cairn.registry/1'),
  version: count,
  prev_hash: z.string(),
  payload,
  payload_b3: z.string(),
  state_root: z.string(),
  signer_set_hash: z.string(),
  proposal: z.object(terms),
  approvals: z.array(approval),
  committed_at: count,
})

export const namedItem = z.object({ name: z.string(), version: count, item })

export const history = z.object({ name: z.string(), versions: z.array(count) })

const leaf = z.object({
  schema: z.literal('cairn.log/1'),
  type: z.enum(['genesis', 'proposal', 'approval', 'commit', 'audit_head', 'snapshot']),
  head: z.object({ version: count, hash: z.string() }),
  artifact: z.optional(artifact),
  proposal: z.optional(z.object(proposal)),
  payload: z.optional(payload),
  proposal_id: z.optional(z.string()),
  approval: z.optional(approval),
  prev_hash: z.optional(z.string()),
  state_root: z.optional(z.string()),
  committed_at: z.optional(count),
  audit: z.optional(z.object({ head: z.string(), count, chain: z.optional(z.string()) })),
  snapshot: z.optional(z.string()),
})

/** A proof file: of a version, or of what a name stands for. */
export const proof = z.object({
  schema: z.literal('cairn.proof/1'),
  checkpoint: z.string(),
  commits: z.array(z.object({ artifact, index: count, inclusion: texts })),
  signer_set: z.string(),
  consistency: z.optional(z.object({ from: count, hashes: texts })),
  version: z.optional(count),
  name: z.optional(z.string()),
  item: z.optional(z.nullable(item)),
  item_proof: z.optional(z.string()),
  last_leaf: z.optional(z.object({ leaf, inclusion: texts })),
  b3: z.string(),
})

export const trust = z.object({
  schema: z.literal('cairn.trust/1'),
  origin: z.string(),
  genesis: z.string(),
  log_keys: texts,
  witnesses: z.optional(z.object({ threshold: count, keys: texts })),
})

/** How far the deep verifier has come. */
export const verifyReport = z.object({
  next: count,
  size: count,
  /** 0 to 1. */
  progress: z.number(),
  bad: z.nullable(z.object({ index: count, why: z.string() })),
  completed_at: z.nullable(z.number()),
})
