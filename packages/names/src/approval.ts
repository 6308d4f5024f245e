/**
 * Approvals and their judgement. Pure: the same case gives the same answer at the Committer, at a client and in a proof.
 *
 *   expired? ─► who is it? ─► is the set still in force? ─► approved before? ─► is it their signature?
 *   expired     revoked_key    stale_signer_set              duplicate_approval   invalid_sig (revoked_key if an
 *               not_a_signer                                                      earlier key of theirs made it)
 *
 * A proposal that replaces the signer set collects two kinds of approvals, counted apart: of the set in force, which
 * decides, and of every key that is new, which shows that a signer holds it. One signer id may have a key in both.
 */
import type { SignatureAlgorithm, SignatureVerifier } from '@cairn/tlog'
import { fromBase64url, type JsonValue } from '@cairn/wire'
import { FieldReader } from './fields.ts'
import { type LogIdentity, type Payload, type Proposal, signerSetOf, signingInput } from './proposal.ts'
import { type RegistryRefusal, refused } from './refusal.ts'
import { newSigners, SIGNER_ID, type Signer, type SignerSetItem, signerSetHash } from './signer-set.ts'

/** `current` decides; `incoming` is a key of the proposed set that the one in force does not have. */
type SignerRole = 'current' | 'incoming'

/** What a signer sends. */
export type ApprovalRequest = {
  readonly signer_id: string
  /** Base64url. The algorithm is that of the signer's key. */
  readonly sig: string
  /** Unix milliseconds as the signer's clock had it; informs, decides nothing. */
  readonly signed_at?: number
}

/** An approval that was accepted, as artifacts keep it. */
export type Approval = ApprovalRequest & { readonly role: SignerRole }

const SIGNATURE_BYTES: Readonly<Record<SignatureAlgorithm, number>> = { ed25519: 64, 'ml-dsa-44': 2420 }

export function parseApprovalRequest(value: JsonValue): ApprovalRequest {
  return readRequest(new FieldReader(value, 'The approval', ['signer_id', 'sig'], ['signed_at']))
}

export function parseApproval(value: JsonValue): Approval {
  const fields = new FieldReader(value, 'The approval', ['signer_id', 'sig', 'role'], ['signed_at'])
  const role = fields.value('role')
  if (role !== 'current' && role !== 'incoming') throw fields.refused('role', 'must be "current" or "incoming"')
  return { ...readRequest(fields), role }
}

function readRequest(fields: FieldReader): ApprovalRequest {
  const request = {
    signer_id: fields.text('signer_id', SIGNER_ID),
    sig: fields.base64url('sig', Object.values(SIGNATURE_BYTES)),
  }
  return fields.has('signed_at') ? { ...request, signed_at: fields.integer('signed_at', 0) } : request
}

/** Everything an approval is judged by. */
export interface ApprovalCase {
  readonly log: LogIdentity
  readonly proposal: Proposal
  readonly payload: Payload
  /** The set in force. */
  readonly signerSet: SignerSetItem
  /** Signers of earlier sets; the keys among them that are no longer in force are revoked. */
  readonly formerSigners: readonly Signer[]
  /** Accepted for this proposal so far. */
  readonly approvals: readonly Approval[]
  /** Unix milliseconds. */
  readonly now: number
}

interface Candidate extends Signer {
  readonly role: SignerRole
}

/** Whether the approval counts, and as what; or the one reason why not. */
export function judgeApproval(
  approvalCase: ApprovalCase,
  request: ApprovalRequest,
  verifier: SignatureVerifier,
): { readonly kind: 'ok'; readonly approval: Approval } | RegistryRefusal {
  const { proposal, payload, signerSet, approvals, now } = approvalCase
  const { signer_id: id } = request
  if (now >= proposal.expires_at) return refused('expired', `The proposal ${proposal.proposal_id} has expired.`)
  const candidates = candidatesFor(id, signerSet, payload)
  if (candidates.length === 0) return unknownSigner(approvalCase, id)
  if (proposal.signer_set_hash !== signerSetHash(signerSet)) return staleSet(proposal)
  const isDone = ({ role }: Candidate) => approvals.some((given) => given.signer_id === id && given.role === role)
  if (candidates.every(isDone)) return duplicate(id)
  const input = signingInput(approvalCase.log, proposal)
  const signedBy = candidates.find((candidate) => isSignature(candidate, input, request, verifier))
  if (signedBy === undefined) return foreignSignature(approvalCase, input, request, verifier)
  return isDone(signedBy) ? duplicate(id) : { kind: 'ok', approval: { ...request, role: signedBy.role } }
}

function candidatesFor(id: string, current: SignerSetItem, payload: Payload): readonly Candidate[] {
  const next = signerSetOf(payload)
  const incoming = next === undefined ? [] : newSigners(current, next)
  return [
    ...current.signers.map((signer) => ({ ...signer, role: 'current' as const })),
    ...incoming.map((signer) => ({ ...signer, role: 'incoming' as const })),
  ].filter((candidate) => candidate.id === id)
}

function isSignature(
  { algo, key }: Signer,
  input: Uint8Array,
  { sig }: ApprovalRequest,
  verifier: SignatureVerifier,
): boolean {
  const signature = fromBase64url(sig)
  return signature.length === SIGNATURE_BYTES[algo] && verifier.verify(algo, fromBase64url(key), input, signature)
}

function revokedOf({ signerSet, formerSigners }: ApprovalCase, id: string): readonly Signer[] {
  const inForce = new Set(signerSet.signers.map(({ key }) => key))
  return formerSigners.filter((signer) => signer.id === id && !inForce.has(signer.key))
}

function unknownSigner(approvalCase: ApprovalCase, id: string): RegistryRefusal {
  if (revokedOf(approvalCase, id).length > 0) return revoked(id)
  return refused('not_a_signer', `${id} is not a signer of this registry; the signer set names those who are.`)
}

/** No key that counts made this signature; a key that no longer counts may have. */
function foreignSignature(
  approvalCase: ApprovalCase,
  input: Uint8Array,
  request: ApprovalRequest,
  verifier: SignatureVerifier,
): RegistryRefusal {
  const { signer_id: id } = request
  const wasRevoked = revokedOf(approvalCase, id).some((signer) => isSignature(signer, input, request, verifier))
  if (wasRevoked) return revoked(id)
  const detail = `This is not ${id}'s signature over the signing input of this proposal. Sign the one the proposal gives.`
  return refused('invalid_sig', detail)
}

const revoked = (id: string): RegistryRefusal =>
  refused('revoked_key', `The key of ${id} was replaced by a later signer set and no longer counts.`)

const duplicate = (id: string): RegistryRefusal =>
  refused('duplicate_approval', `${id} has approved this proposal already; once is enough.`)

export function staleSet({ proposal_id: id }: Proposal): RegistryRefusal {
  return refused('stale_signer_set', `The signer set has changed since ${id} was proposed. Propose again.`)
}

/** How far a proposal is: who has approved and who is missing, the set in force and the new keys counted apart. */
export interface Quorum {
  readonly m: number
  readonly n: number
  readonly approved: readonly string[]
  readonly missing: readonly string[]
  readonly incoming: { readonly approved: readonly string[]; readonly missing: readonly string[] }
  readonly isMet: boolean
}

/** Counts approvals that were judged before; each signer of the set counts once, anything else not at all. */
export function judgeQuorum(signerSet: SignerSetItem, payload: Payload, approvals: readonly Approval[]): Quorum {
  const next = signerSetOf(payload)
  const current = split(signerSet.signers, approvals, 'current')
  const incoming = split(next === undefined ? [] : newSigners(signerSet, next), approvals, 'incoming')
  const isMet = current.approved.length >= signerSet.m && incoming.missing.length === 0
  return { m: signerSet.m, n: signerSet.signers.length, ...current, incoming, isMet }
}

function split(signers: readonly Signer[], approvals: readonly Approval[], role: SignerRole): Quorum['incoming'] {
  const given = new Set(approvals.filter((approval) => approval.role === role).map((approval) => approval.signer_id))
  const ids = signers.map(({ id }) => id)
  return { approved: ids.filter((id) => given.has(id)), missing: ids.filter((id) => !given.has(id)) }
}
