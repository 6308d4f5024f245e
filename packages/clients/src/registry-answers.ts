/** What the registry answers, read: what is hashed or signed by the rules of `names`, the rest field by field. */
import { CairnError } from '@cairn/kernel'
import {
  type Approval,
  type Artifact,
  type NameItem,
  type Payload,
  type Proposal,
  parseApproval,
  parseArtifact,
  parseItem,
  parsePayload,
  parseProposal,
  type Quorum,
} from '@cairn/names'
import type { IncomingResponse } from '@cairn/transport'
import { type Address, type JsonObject, type JsonValue, parseAddress, parseJson } from '@cairn/wire'
import { badAnswer, bytesUpTo } from './response-body.ts'

/** A version as the stream tells it. */
export interface StreamedVersion {
  readonly version: number
  readonly hash: Address
  readonly payload_b3: Address
  /** Unix milliseconds. */
  readonly committed_at: number
}

/** A version, without its artifact. */
export interface VersionFacts extends StreamedVersion {
  readonly log_index: number
}

/** What a name means, and the version that said so. */
export interface NamedItem {
  readonly item: NameItem
  readonly version: number
}

/** HEAD, and of which log. */
export interface RegistryHead extends VersionFacts {
  readonly origin: string
  /** Entries of the log below it were removed by retention. */
  readonly minimum_index: number
}

/** A proposal that became no version yet; everything needed to recompute what its signers sign, but of which log. */
export interface OpenProposal {
  readonly status: 'open' | 'expired'
  readonly proposal: Proposal
  readonly payload: Payload
  readonly approvals: readonly Approval[]
  readonly quorum: Quorum
}

/** A proposal that did. */
export interface CommittedProposal {
  readonly status: 'committed'
  readonly facts: VersionFacts
}

/** A proposal in a list. */
export interface ListedProposal {
  readonly proposal: Proposal
  readonly log_index: number
  readonly quorum: Quorum
}

export interface ProposalPage {
  readonly proposals: readonly ListedProposal[]
  /** Where the next page begins; undefined after the last. */
  readonly cursor: number | undefined
}

export interface Proposed {
  readonly proposal_id: string
  readonly payload_b3: Address
  /** UTF-8 of it is what the registry says each signer signs. */
  readonly signing_input: string
  /** Unix milliseconds. */
  readonly expires_at: number
  readonly quorum: Quorum
}

/** An artifact of a full payload and all its approvals stays below this. */
const ANSWER_BYTES_MAX = 4 * 1024 * 1024

type RegistryReader<T> = (response: IncomingResponse) => Promise<T>

const bodyOf = bytesUpTo(ANSWER_BYTES_MAX)

/** Reads the JSON of a body and lets `take` make something of it; whatever does not fit is a bad answer. */
function answer<T>(take: (value: JsonValue) => T): RegistryReader<T> {
  return async (response) => {
    const bytes = await bodyOf(response)
    try {
      return take(parseJson(bytes))
    } catch (error) {
      if (!(error instanceof CairnError) || error.code === 'bad_answer') throw error
      throw badAnswer(`is not what was asked for: ${error.message.replace(/\.$/, '')}`, error)
    }
  }
}

export const readVersionFacts: RegistryReader<VersionFacts> = answer(versionFacts)

function versionFacts(value: JsonValue): VersionFacts {
  return { ...streamedVersion(value), log_index: count(objectOf(value), 'log_index') }
}

export function streamedVersion(value: JsonValue): StreamedVersion {
  const fields = objectOf(value)
  return {
    version: count(fields, 'version'),
    hash: address(fields, 'hash'),
    payload_b3: address(fields, 'payload_b3'),
    committed_at: count(fields, 'committed_at'),
  }
}

export const readHead: RegistryReader<RegistryHead> = answer((value) => {
  const fields = objectOf(value)
  return { ...versionFacts(value), origin: text(fields, 'origin'), minimum_index: count(fields, 'minimum_index') }
})

export const readArtifact: RegistryReader<Artifact> = answer(parseArtifact)

export const readNamedItem: RegistryReader<NamedItem> = answer((value) => {
  const fields = objectOf(value)
  const item = parseItem(fields['item'] ?? null)
  if (item.kind !== 'name' || 'deleted' in item) throw badAnswer('is not about a name')
  return { item, version: count(fields, 'version') }
})

export const readVersions: RegistryReader<readonly number[]> = answer((value) => {
  const { versions } = objectOf(value)
  if (!Array.isArray(versions)) throw badAnswer('has no list of versions')
  return versions.map((version: JsonValue) => count({ version }, 'version'))
})

export const readProposed: RegistryReader<Proposed> = answer((value) => {
  const fields = objectOf(value)
  return {
    proposal_id: text(fields, 'proposal_id'),
    payload_b3: address(fields, 'payload_b3'),
    signing_input: text(fields, 'signing_input'),
    expires_at: count(fields, 'expires_at'),
    quorum: quorum(fields['quorum']),
  }
})

export const readProposal: RegistryReader<OpenProposal | CommittedProposal> = answer((value) => {
  const fields = objectOf(value)
  const { status } = fields
  if (status === 'committed') return { status, facts: versionFacts(fields) }
  if (status !== 'open' && status !== 'expired') throw badAnswer('does not say how far the proposal is')
  return {
    status,
    proposal: proposalIn(fields),
    payload: parsePayload(fields['payload'] ?? null),
    approvals: list(fields, 'approvals').map(parseApproval),
    quorum: quorum(fields['quorum']),
  }
})

export const readProposalPage: RegistryReader<ProposalPage> = answer((value) => {
  const fields = objectOf(value)
  const proposals = list(fields, 'proposals').map((row) => {
    const listed = objectOf(row)
    return { proposal: proposalIn(listed), log_index: count(listed, 'log_index'), quorum: quorum(listed['quorum']) }
  })
  return { proposals, cursor: fields['cursor'] === null ? undefined : count(fields, 'cursor') }
})

/** The fields of a proposal among others. */
function proposalIn({ proposal_id, expires_at, supersede, signer_set_hash, payload_b3 }: JsonObject): Proposal {
  const told = { proposal_id, expires_at, supersede, signer_set_hash, payload_b3 }
  const given = Object.entries(told).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))
  return parseProposal(Object.fromEntries(given))
}

export const readQuorum: RegistryReader<Quorum> = answer((value) => quorum(objectOf(value)['quorum']))

export const readAdopted: RegistryReader<number> = answer((value) => count(objectOf(value), 'size'))

export const readKnown: RegistryReader<boolean> = answer((value) => objectOf(value)['known'] === true)

/** A head of an audit chain, and where in the log it is. */
export interface AnchoredHead {
  readonly head: Address
  readonly count: number
  readonly logIndex: number
}

export const readAnchoredHead: RegistryReader<AnchoredHead> = answer((value) => {
  const fields = objectOf(value)
  return { head: address(fields, 'head'), count: count(fields, 'count'), logIndex: count(fields, 'log_index') }
})

export const readLogIndex: RegistryReader<number> = answer((value) => count(objectOf(value), 'log_index'))

/** Whether it is met is counted here, not believed. */
function quorum(value: JsonValue | undefined): Quorum {
  const fields = objectOf(value)
  const [m, n] = [count(fields, 'm'), count(fields, 'n')]
  const [current, incoming] = [sides(fields), sides(objectOf(fields['incoming']))]
  return { m, n, ...current, incoming, isMet: current.approved.length >= m && incoming.missing.length === 0 }
}

function sides(fields: JsonObject): Quorum['incoming'] {
  return { approved: texts(fields, 'approved'), missing: texts(fields, 'missing') }
}

function objectOf(value: JsonValue | undefined): JsonObject {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject
  throw badAnswer('is not a JSON object where one must be')
}

function count(fields: JsonObject, name: string): number {
  const value = fields[name]
  if (typeof value === 'number' && value >= 0) return value
  throw badAnswer(`has no number ${name}`)
}

function text(fields: JsonObject, name: string): string {
  const value = fields[name]
  if (typeof value === 'string') return value
  throw badAnswer(`has no text ${name}`)
}

function address(fields: JsonObject, name: string): Address {
  return parseAddress(text(fields, name))
}

function list(fields: JsonObject, name: string): readonly JsonValue[] {
  const value = fields[name]
  if (Array.isArray(value)) return value as readonly JsonValue[]
  throw badAnswer(`has no list ${name}`)
}

function texts(fields: JsonObject, name: string): readonly string[] {
  return list(fields, name).map((value) => {
    if (typeof value === 'string') return value
    throw badAnswer(`has something else than texts in ${name}`)
  })
}
