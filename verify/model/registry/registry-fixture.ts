/** A registry that has begun, with proposals whose time has come: made once, since nothing of it ever changes. */
import {
  type Approval,
  createGenesis,
  headOf,
  type Item,
  logIdentity,
  type Payload,
  type Proposal,
  payloadHash,
  proposalId,
  RegistryState,
  type Signer,
  signerSetHash,
  signerSetOf,
} from '@cairn/names'
import { addressOf, toBase64url } from '@cairn/wire'
import type { Ledger, PendingProposal } from '../../../services/registry/src/domain/ledger.ts'
import type { RegistryCores } from './cores.ts'

export const NOW = 1_000_000
const EXPIRES_AT = NOW + 1_000
/** No signature is looked at here: whoever signs, signs well. */
export const TRUSTING = { verify: () => true }
export const SIGNATURE = toBase64url(new Uint8Array(64))

const KEEPER: Signer = { id: 'keeper', algo: 'ed25519', key: toBase64url(new Uint8Array(32).fill(1)) }
const HEIR: Signer = { id: 'heir', algo: 'ed25519', key: toBase64url(new Uint8Array(32).fill(2)) }
const GENESIS = createGenesis({ m: 1, signers: [KEEPER] }, { proposal_id: idOf(0), committed_at: NOW })
const GENESIS_STATE = RegistryState.of(
  GENESIS.payload.items.filter((item) => item.kind === 'signer_set' && 'm' in item),
)
const GENESIS_SET = signerSetOf(GENESIS.payload)

export const LOG = logIdentity('model.example/registry', headOf(GENESIS).hash)

/** What the proposals of the models are about; `site` and `rival` change the same name from the same state. */
export type ProposalName = 'site' | 'rival' | 'other' | 'unapproved' | 'rotation'

const NUMBERS: Readonly<Record<ProposalName, number>> = { site: 1, rival: 2, other: 3, unapproved: 4, rotation: 5 }

export function idOf(number: number): string {
  return proposalId(new Uint8Array(16).fill(number))
}

export function proposalIdOf(name: ProposalName): string {
  return idOf(NUMBERS[name])
}

function itemsOf(name: ProposalName): Item[] {
  if (name === 'rotation') {
    if (GENESIS_SET === undefined) throw new Error('The genesis has no signer set.')
    return [{ kind: 'signer_set', id: 'root', prev: signerSetHash(GENESIS_SET), m: 1, signers: [HEIR] }]
  }
  const id = name === 'rival' ? 'site@1' : `${name}@1`
  return [{ kind: 'name', id, manifest: addressOf(new TextEncoder().encode(name)), prev: null }]
}

function approvalsOf(name: ProposalName): Approval[] {
  const current: Approval = { signer_id: KEEPER.id, sig: SIGNATURE, role: 'current' }
  if (name === 'unapproved') return []
  return name === 'rotation' ? [current, { signer_id: HEIR.id, sig: SIGNATURE, role: 'incoming' }] : [current]
}

const OPEN = new Map<ProposalName, PendingProposal>(
  (Object.keys(NUMBERS) as ProposalName[]).map((name) => {
    const payload: Payload = { items: itemsOf(name) }
    const proposal: Proposal = {
      proposal_id: proposalIdOf(name),
      expires_at: EXPIRES_AT,
      signer_set_hash: GENESIS.signer_set_hash,
      payload_b3: payloadHash(payload),
    }
    return [name, { proposal, payload, bytes: 1, approvals: approvalsOf(name), logIndex: 0 }]
  }),
)

/** The ledger with these proposals open. */
export function ledgerWith({ ledger }: RegistryCores, names: readonly ProposalName[]): Ledger {
  const head = headOf(GENESIS)
  const begun = new ledger.Ledger(head, GENESIS_STATE)
  const facts = { ...head, payload_b3: GENESIS.payload_b3, log_index: 0, committed_at: NOW }
  begun.note(GENESIS.proposal.proposal_id, facts, GENESIS.payload.items, undefined)
  for (const name of names) {
    const open = OPEN.get(name)
    if (open !== undefined) begun.setOpen(open)
  }
  return begun
}

export function nameOf(id: string): ProposalName {
  const found = [...OPEN.keys()].find((name) => proposalIdOf(name) === id)
  if (found === undefined) throw new Error(`Nobody made the proposal ${id}.`)
  return found
}
