/** Proposals: opening one, and looking at those that are open. */

import { registryAnswers } from '@cairn/api'
import type { CallContext } from '@cairn/clients'
import { json, type RouteTable, route } from '@cairn/http'
import { judgeQuorum, type LogIdentity, MAX_LEAF_BYTES, parseProposalRequest, signingInput } from '@cairn/names'
import { canonicalJson } from '@cairn/wire'
import { z } from 'zod'
import type { Command, ProposedAnswer } from '../domain/commands.ts'
import type { PendingProposal } from '../domain/ledger.ts'
import { needsStorage, noSuchProposal } from '../errors.ts'
import type { RegistryParts } from '../parts.ts'
import {
  askCommitter,
  bodyOf,
  NO_STORE,
  proposalParams,
  type RegistryRequestContext,
  version,
  writeErrors,
} from './params.ts'

const PAGE_MAX = 1000
const PAGE_DEFAULT = 100
/** Of a leaf, what is not the payload: ids, hashes, HEAD. */
const LEAF_FRAME_BYTES = 2048
const HOLDER = 'registry'

export function proposalRoutes(parts: RegistryParts): RouteTable {
  return [
    route({
      method: 'POST',
      path: '/registry/proposals',
      lane: 'inline',
      scope: 'registry:propose',
      summary:
        'Opens a proposal: `{payload: {items, note?}, payload_b3?, supersede?, proposal_id?}`, as JSON or CBOR. It can be approved and committed for 24 hours. With an id of its own a proposer can ask again and open one. The UTF-8 of `signing_input` is what signers sign.',
      body: 'bytes',
      responses: { 202: { description: 'Open, durably.', schema: registryAnswers.opened } },
      errors: {
        Malformed: 400,
        ProposalExists: 409,
        ReleaseFixed: 409,
        LengthRequired: 411,
        HardLimitExceeded: 413,
        ...writeErrors,
      },
      handler: async (context) => {
        const request = parseProposalRequest(bodyOf(context))
        const apart = await storeApart(parts, context, request)
        const { payload, payload_b3, supersede, proposal_id: id } = request
        const command: Command = { tag: 'propose', payload, payload_b3, supersede, apart, id }
        // Held before anybody hears of it: what a signer looks at must be what a commit will mean.
        using _held = await parts.nameHolder?.expect(payload.items, callOf(context))
        const answer = (await askCommitter(parts, context, command)) as ProposedAnswer
        return json(202, answer, [...NO_STORE, 'Location', `/registry/proposals/${answer.proposal_id}`])
      },
    }),
    listProposals(parts),
    showProposal(parts),
  ]
}

function callOf({ deadline, corrId, signal }: RegistryRequestContext): CallContext {
  return { deadline, corrId, signal }
}

/** A payload too large for a log entry goes to storage, and is held there, before the log says anything of it. */
async function storeApart(
  { storage }: RegistryParts,
  request: RegistryRequestContext,
  { payload, payload_b3 }: ReturnType<typeof parseProposalRequest>,
): Promise<Uint8Array | undefined> {
  const bytes = canonicalJson(payload)
  if (bytes.length <= MAX_LEAF_BYTES - LEAF_FRAME_BYTES) return undefined
  if (storage === undefined) throw needsStorage(payload_b3, MAX_LEAF_BYTES)
  const context = callOf(request)
  await storage.put(bytes, 'application/json', context)
  await storage.hold(HOLDER, payload_b3, context)
  return bytes
}

function listProposals({ ledger, published }: RegistryParts): RouteTable[number] {
  return route({
    method: 'GET',
    path: '/registry/proposals',
    lane: 'inline',
    summary: 'Open proposals in the order they came, page by page: `after` is the cursor of the page before.',
    query: z.strictObject({
      after: version.optional(),
      limit: z.coerce.number().int().min(1).max(PAGE_MAX).default(PAGE_DEFAULT),
    }),
    responses: {
      200: {
        description: 'A page, and the cursor of the next; null after the last.',
        schema: registryAnswers.proposals,
      },
    },
    handler: ({ query }) => {
      const { signerSet } = published.value.state
      const page: PendingProposal[] = []
      for (const open of ledger.proposals()) {
        if (query.after !== undefined && open.logIndex <= query.after) continue
        if (page.length === query.limit) break
        page.push(open)
      }
      const rows = page.map(({ proposal, payload, approvals, logIndex }) => ({
        ...proposal,
        log_index: logIndex,
        items: payload.items.length,
        quorum: judgeQuorum(signerSet, payload, approvals),
      }))
      const cursor = page.length < query.limit ? null : (page.at(-1)?.logIndex ?? null)
      return json(200, { proposals: rows, cursor }, NO_STORE)
    },
  })
}

function showProposal(parts: RegistryParts): RouteTable[number] {
  const { ledger, published, signer, runtime } = parts
  return route({
    method: 'GET',
    path: '/registry/proposals/:id',
    lane: 'inline',
    summary: 'One proposal: what it changes, what signers sign, who has approved and who is missing; or its version.',
    params: proposalParams,
    responses: { 200: { description: 'The proposal.', schema: registryAnswers.shownProposal } },
    errors: { NotFound: 404 },
    handler: ({ params: { id } }) => {
      const done = ledger.committed(id)
      if (done !== undefined) return json(200, { proposal_id: id, status: 'committed', ...done }, NO_STORE)
      const open = ledger.open(id)
      if (open === undefined) throw noSuchProposal(id)
      const { signerSet } = published.value.state
      const status = open.proposal.expires_at <= runtime.clock.wall() ? 'expired' : 'open'
      return json(200, { status, ...describe(open, signer.identity), quorum: quorumOf(open, signerSet) }, NO_STORE)
    },
  })
}

function describe({ proposal, payload, approvals, logIndex }: PendingProposal, identity: LogIdentity) {
  const input = new TextDecoder().decode(signingInput(identity, proposal))
  return { ...proposal, payload, approvals, log_index: logIndex, signing_input: input }
}

function quorumOf({ payload, approvals }: PendingProposal, signerSet: Parameters<typeof judgeQuorum>[0]) {
  return judgeQuorum(signerSet, payload, approvals)
}
