/** Approving and committing: what signers do, and whoever counts them. */

import { registryAnswers } from '@cairn/api'
import { json, problem, type RouteTable, route } from '@cairn/http'
import { toCairnError } from '@cairn/kernel'
import { type ApprovalRequest, judgeApproval, judgeQuorum, parseApprovalRequest } from '@cairn/names'
import type { SignatureAlgorithm, SignatureVerifier } from '@cairn/tlog'
import type { IngressResponse } from '@cairn/transport'
import { equalBytes } from '@cairn/wire'
import type { ApprovedAnswer, Command } from '../domain/commands.ts'
import type { VersionSummary } from '../domain/ledger.ts'
import { noSuchProposal, refusal } from '../errors.ts'
import type { RegistryParts } from '../parts.ts'
import { askCommitter, bodyOf, NO_STORE, proposalParams, type RegistryRequestContext, writeErrors } from './params.ts'

interface CheckedSignature {
  readonly algorithm: SignatureAlgorithm
  readonly publicKey: Uint8Array
  readonly message: Uint8Array
  readonly signature: Uint8Array
  readonly isGood: boolean
}

/**
 * Remembers what it checked. A request has its signature checked on its own turn; the batch it joins later asks the
 * same question and does not have to pay for it again.
 */
class CachingVerifier implements SignatureVerifier {
  readonly #verifier: SignatureVerifier
  readonly #checked: CheckedSignature[] = []

  constructor(verifier: SignatureVerifier) {
    this.#verifier = verifier
  }

  verify(algorithm: SignatureAlgorithm, publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
    const known = this.#checked.find(
      (each) =>
        each.algorithm === algorithm &&
        equalBytes(each.publicKey, publicKey) &&
        equalBytes(each.signature, signature) &&
        equalBytes(each.message, message),
    )
    if (known !== undefined) return known.isGood
    const isGood = this.#verifier.verify(algorithm, publicKey, message, signature)
    this.#checked.push({ algorithm, publicKey, message, signature, isGood })
    return isGood
  }
}

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
          schema: registryAnswers.approved,
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
      responses: { 201: { description: 'A version, durable and signed.', schema: registryAnswers.committed } },
      errors: {
        NotFound: 404,
        ChainMismatch: 409,
        Expired: 409,
        ReleaseFixed: 409,
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
  context: RegistryRequestContext,
  proposalId: string,
  request: ApprovalRequest,
): Promise<IngressResponse> {
  const verifier = new CachingVerifier(parts.crypto)
  const command: Command = { tag: 'approve', proposalId, request, verifier }
  // Judged here first: a signature takes a fraction of a millisecond, which the batch of many others should not wait
  // for, and what can only be refused does not take a place in the queue.
  const refused = judge(parts, command)
  if (refused !== undefined) {
    parts.audit.note(command, { tag: 'refused', error: refused })
    throw refused
  }
  const answer = (await askCommitter(parts, context, command)) as ApprovedAnswer
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
  const input = {
    log: signer.identity,
    signerSet,
    formerSigners: ledger.formerSigners(),
    now: runtime.clock.wall(),
  }
  const judged = judgeApproval({ ...open, ...input }, request, verifier)
  return judged.kind === 'refused' ? refusal(judged) : undefined
}

async function commit(
  parts: RegistryParts,
  context: RegistryRequestContext,
  proposalId: string,
): Promise<IngressResponse> {
  const { runtime, ledger, published } = parts
  const beganAt = runtime.clock.now()
  try {
    const answer = (await askCommitter(parts, context, {
      tag: 'commit',
      proposalId,
      corrId: context.corrId,
    })) as VersionSummary
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
