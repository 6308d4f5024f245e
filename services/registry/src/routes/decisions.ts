/** Approving and committing: what signers do, and whoever counts them. */
import { toCairnError } from '@cairn/kernel'
import { type ApprovalRequest, judgeApproval, judgeQuorum, parseApprovalRequest } from '@cairn/names'
import { type IngressResponse, json, problem, type RouteTable, route } from '@cairn/platform'
import { z } from 'zod'
import type { Approved, Command } from '../domain/commands.ts'
import { RememberedVerifier } from '../domain/remembered-verifier.ts'
import type { VersionFacts } from '../domain/versions.ts'
import { noSuchProposal, refusal } from '../errors.ts'
import type { RegistryParts } from '../parts.ts'
import { bodyOf } from './bodies.ts'
import { type AnyContext, NO_STORE, proposalParams } from './params.ts'
import { askCommitter, writeErrors } from './writing.ts'

const quorum = z.looseObject({ m: z.int(), n: z.int(), approved: z.array(z.string()), missing: z.array(z.string()) })

const committed = z.strictObject({
  version: z.int(),
  hash: z.string(),
  payload_b3: z.string(),
  log_index: z.int(),
  committed_at: z.int(),
})

export function decisionRoutes(parts: RegistryParts): RouteTable {
  return [
    route({
      method: 'POST',
      path: '/registry/approvals/:id',
      lane: 'inline',
      scope: 'registry:approve',
      summary:
        "Hands in a signer's approval: `{signer_id, sig, signed_at?}`. The algorithm is that of the signer's key.",
      params: proposalParams,
      body: 'bytes',
      responses: {
        200: {
          description: 'Counted, durably; who is still missing.',
          schema: z.strictObject({ status: z.literal('accepted'), approvals: z.int(), quorum, log_index: z.int() }),
        },
      },
      errors: {
        Malformed: 400,
        NotFound: 404,
        DuplicateApproval: 409,
        Expired: 409,
        StaleSignerSet: 409,
        AlreadyCommitted: 409,
        LengthRequired: 411,
        InvalidSig: 422,
        NotASigner: 422,
        RevokedKey: 422,
        ...writeErrors,
      },
      handler: async (context) =>
        await approve(parts, context, context.params.id, parseApprovalRequest(bodyOf(context))),
    }),
    route({
      method: 'POST',
      path: '/registry/commit/:id',
      lane: 'inline',
      scope: 'registry:commit',
      summary: 'Commits a proposal that has its quorum. Asked again it gives the same answer.',
      params: proposalParams,
      responses: { 201: { description: 'A version, durable and signed.', schema: committed } },
      errors: {
        NotFound: 404,
        ChainMismatch: 409,
        Expired: 409,
        StaleSignerSet: 409,
        QuorumFailed: 422,
        ...writeErrors,
      },
      handler: async (context) => await commit(parts, context, context.params.id),
    }),
  ]
}

async function approve(
  parts: RegistryParts,
  context: AnyContext,
  proposalId: string,
  request: ApprovalRequest,
): Promise<IngressResponse> {
  const verifier = new RememberedVerifier(parts.crypto)
  const command: Command = { tag: 'approve', proposalId, request, verifier }
  // Judged here first: a signature takes a fraction of a millisecond, which the batch of many others should not wait
  // for, and what can only be refused does not take a place in the queue.
  const refused = judge(parts, command)
  if (refused !== undefined) {
    parts.audit.note(command, { tag: 'refused', error: refused })
    throw refused
  }
  const answer = (await askCommitter(parts, context, command)) as Approved
  return json(200, { status: 'accepted', ...answer }, NO_STORE)
}

function judge(
  { ledger, published, signer, runtime }: RegistryParts,
  { proposalId, request, verifier }: Extract<Command, { tag: 'approve' }>,
) {
  const open = ledger.open(proposalId)
  // Committed, expired long ago or never there: the Committer knows which.
  if (open === undefined) return ledger.committed(proposalId) === undefined ? noSuchProposal(proposalId) : undefined
  const { signerSet } = published.value.state
  const circumstances = {
    log: signer.identity,
    signerSet,
    formerSigners: ledger.formerSigners(),
    now: runtime.clock.wall(),
  }
  const judged = judgeApproval({ ...open, ...circumstances }, request, verifier)
  return judged.kind === 'refused' ? refusal(judged) : undefined
}

async function commit(parts: RegistryParts, context: AnyContext, proposalId: string): Promise<IngressResponse> {
  const { runtime, ledger, published } = parts
  const beganAt = runtime.clock.now()
  try {
    const answer = (await askCommitter(parts, context, {
      tag: 'commit',
      proposalId,
      corrId: context.corrId,
    })) as VersionFacts
    runtime.metrics.observe('commit_latency_seconds', (runtime.clock.now() - beganAt) / 1000)
    return json(201, answer, [...NO_STORE, 'Location', `/registry/${answer.version}`])
  } catch (error) {
    const open = ledger.open(proposalId)
    const refused = toCairnError(error)
    if (refused.code !== 'QuorumFailed' || open === undefined) throw error
    // Whoever asks too early is told whom to ask.
    const { signerSet } = published.value.state
    return problem(refused, context.corrId, {
      fields: { quorum: judgeQuorum(signerSet, open.payload, open.approvals) },
    })
  }
}
