/** What the Committer is asked, and what it answers. */
import type { ApprovalRequest, AuditHead, Payload, Quorum, Supersede } from '@cairn/names'
import type { NoteSignature, SignatureVerifier } from '@cairn/tlog'
import type { Address } from '@cairn/wire'
import type { VersionSummary } from './ledger.ts'

export type Command =
  | {
      readonly tag: 'propose'
      readonly payload: Payload
      readonly payload_b3: Address
      readonly supersede: Supersede | undefined
      /** The canonical bytes where they do not fit into a leaf; storage holds them already. */
      readonly apart: Uint8Array | undefined
      /** The proposer's own; a new one otherwise. */
      readonly id?: string | undefined
    }
  | {
      readonly tag: 'approve'
      readonly proposalId: string
      readonly request: ApprovalRequest
      /** Knows the signature already, so that the batch does not wait for it. */
      readonly verifier: SignatureVerifier
    }
  | { readonly tag: 'commit'; readonly proposalId: string; readonly corrId: string }
  | { readonly tag: 'audit-head'; readonly audit: AuditHead }
  /** The same size signed again, with the time of now. */
  | { readonly tag: 'checkpoint' }
  /** Lines of witnesses, good ones, under the checkpoint of so many entries. */
  | { readonly tag: 'cosign'; readonly size: number; readonly lines: readonly NoteSignature[] }
  /** That a snapshot of the state is kept under this address. */
  | { readonly tag: 'snapshot'; readonly version: number; readonly address: Address }

export interface ProposedAnswer {
  readonly proposal_id: string
  readonly payload_b3: Address
  /** UTF-8 of it is what each signer signs. */
  readonly signing_input: string
  readonly expires_at: number
  readonly quorum: Quorum
  readonly log_index: number
}

export interface ApprovedAnswer {
  readonly approvals: number
  readonly quorum: Quorum
  readonly log_index: number
}

export interface AppendedAnswer {
  readonly log_index: number
}

export interface CheckpointedAnswer {
  readonly size: number
}

export type CommandAnswer = ProposedAnswer | ApprovedAnswer | VersionSummary | AppendedAnswer | CheckpointedAnswer
