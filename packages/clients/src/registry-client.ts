/**
 * The client of the registry: names, their history and the log that proves it. Each answer is checked for its form;
 * a caller with a trust file decides whether to believe it (`verifyProof` of `names`).
 */
import { isKind, sleep } from '@cairn/kernel'
import {
  type ApprovalRequest,
  type Artifact,
  type AuditHead,
  type Payload,
  parseTrust,
  type Quorum,
  type Supersede,
  type TrustFile,
} from '@cairn/names'
import { decodeEntryBundle, HASH_BYTES, MAX_ENTRY_BYTES, MAX_NOTE_BYTES, type Tile, tilePath } from '@cairn/tlog'
import type { IncomingBody, IncomingResponse } from '@cairn/transport'
import { canonicalJson, parseJson } from '@cairn/wire'
import type { CallContext, Caller } from './caller.ts'
import {
  type AnchoredHead,
  type CommittedProposal,
  type NamedItem,
  type OpenProposal,
  type ProposalPage,
  type Proposed,
  type RegistryHead,
  readAdopted,
  readAnchoredHead,
  readArtifact,
  readHead,
  readKnown,
  readLogIndex,
  readNamedItem,
  readProposal,
  readProposalPage,
  readProposed,
  readQuorum,
  readVersionFacts,
  readVersions,
  type StreamedVersion,
  streamedVersion,
  type VersionFacts,
} from './registry-answers.ts'
import { badAnswer, bytesUpTo } from './response-body.ts'
import { readEvents } from './server-events.ts'

/*
 * The registry's stream of versions, over as many connections as it takes.
 *
 *     connection 1   5 6 7 ✕                    each connection continues after the last version received,
 *     connection 2         └─▶ 8 9 ✕            so that none is missed and none comes twice
 *     connection 3               └─▶ compacted: HEAD is 4012
 */

export type RegistryEvent =
  | { readonly tag: 'update'; readonly facts: StreamedVersion }
  /** Versions were skipped: what one knows of the registry has to be read again, as of `head`. */
  | { readonly tag: 'compacted'; readonly head: StreamedVersion }

/** One connection lives at most this long; the next goes on where it was. */
const CONNECTION_MS = 60 * 60 * 1000
/** Before trying again a server that took the connection and said nothing. */
const SILENT_WAIT_MS = 1000

/** Every version after `after`, or from now on; ends with the deadline or the signal, by its error. */
async function* followUpdates(
  caller: Caller,
  after: number | undefined,
  context: CallContext,
): AsyncGenerator<RegistryEvent> {
  const { deadline, signal } = context
  let last = after
  for (;;) {
    let isSilent = true
    const body = await connect(caller, last, { ...context, deadline: deadline.child(CONNECTION_MS) })
    for await (const event of eventsOf(body)) {
      isSilent = false
      const { version } = event.tag === 'update' ? event.facts : event.head
      if (last !== undefined && version <= last) continue
      yield last !== undefined && event.tag === 'update' && version > last + 1
        ? { tag: 'compacted', head: event.facts }
        : event
      last = version
    }
    deadline.throwIfExpired('the stream of the registry')
    if (isSilent) await sleep(deadline.clock, Math.min(SILENT_WAIT_MS, deadline.remaining()), { signal })
  }
}

async function connect(caller: Caller, last: number | undefined, context: CallContext): Promise<IncomingBody> {
  const headers = { accept: 'text/event-stream', ...(last === undefined ? {} : { 'last-event-id': String(last) }) }
  const read = async ({ body }: IncomingResponse): Promise<IncomingBody> => await Promise.resolve(body)
  const call = { operation: 'stream', path: 'registry/stream', method: 'GET', idempotent: true, headers, read } as const
  return await caller.call(call, context)
}

/** The events of one connection, until it ends: by the server, by its time, or by a network that failed. */
async function* eventsOf(body: IncomingBody): AsyncGenerator<RegistryEvent> {
  try {
    for await (const { event, data } of readEvents(body)) {
      if (event !== 'registry.update' && event !== 'registry.compacted') continue
      const facts = streamedVersion(parseJson(new TextEncoder().encode(data)))
      yield event === 'registry.update' ? { tag: 'update', facts } : { tag: 'compacted', head: facts }
    }
  } catch (error) {
    // The connection broke or timed out, the caller did not: it continues on another one.
    if (!isKind(error, 'Timeout')) throw error
  }
}

/** What a proof file is to be about: one version, or what a name means now. */
export type ProofSubject = { readonly version: number } | { readonly name: string }

export interface RegistryClient {
  head(context: CallContext): Promise<RegistryHead>
  /** A version whole; `NotFound` with the code `Pruned` if retention has removed it. */
  version(version: number, context: CallContext): Promise<Artifact>
  /** What the name means, or meant at a version; undefined where that is nothing. */
  name(name: string, at: number | undefined, context: CallContext): Promise<NamedItem | undefined>
  /** So many of the versions below `before` that changed the name, the newest first; its removal is one of them. */
  history(name: string, before: number, limit: number, context: CallContext): Promise<readonly number[]>
  /** Open proposals in the order they came; `after` is the cursor of the page before. */
  proposals(after: number | undefined, context: CallContext): Promise<ProposalPage>
  proposal(id: string, context: CallContext): Promise<OpenProposal | CommittedProposal>
  /** Not repeated by itself: a second would be another proposal. */
  propose(payload: Payload, supersede: Supersede | undefined, context: CallContext): Promise<Proposed>
  /** Opens the proposal under an id of the caller's, or finds it there: however often this is asked, there is one. */
  proposeOnce(id: string, payload: Payload, context: CallContext): Promise<void>
  /** How far the proposal is with this approval. */
  approve(id: string, approval: ApprovalRequest, context: CallContext): Promise<Quorum>
  /** A proposal becomes one version, however often this is asked. */
  commit(id: string, context: CallContext): Promise<VersionFacts>
  /** A proof file, byte for byte; with `from`, it also shows that the log continues the tree of that size. */
  proof(subject: ProofSubject, from: number | undefined, context: CallContext): Promise<Uint8Array>
  /** Whom the registry says to trust: worth what the way to it is worth. */
  trust(context: CallContext): Promise<TrustFile>
  /** The signed note, byte for byte. */
  checkpoint(context: CallContext): Promise<Uint8Array>
  /** The hashes of a tile, as many as its width. */
  tile(tile: Tile & { readonly level: number }, context: CallContext): Promise<Uint8Array>
  /** The entries under the tile of level 0 with this index; `NotFound` with the code `Pruned` if they were removed. */
  entries(index: number, width: number, context: CallContext): Promise<readonly Uint8Array[]>
  /**
   * Every version after `after`, or from now on, until the deadline or the signal ends it. A connection that ends is
   * opened again where it was; where versions cannot be told one by one any more, `compacted` says where HEAD is.
   */
  stream(after: number | undefined, context: CallContext): AsyncGenerator<RegistryEvent>
  /**
   * Shows a registry that was restored or put back this checkpoint, so that it may write again; gives its size. `isMoved`
   * says that nothing was signed since: then there need be none.
   */
  adopt(note: Uint8Array, isMoved: boolean, context: CallContext): Promise<number>
  /** Shows the log a checkpoint that it has signed. Whether all of it is there; if not, the log is only read from then on. */
  showCheckpoint(note: Uint8Array, context: CallContext): Promise<boolean>
  /** Appends the head of an audit chain to the log; gives its index. Not repeated by itself. */
  auditHead(audit: AuditHead, context: CallContext): Promise<number>
  /** The newest head of this audit chain that the log has; nothing if it has none. */
  newestAuditHead(chain: string, context: CallContext): Promise<AnchoredHead | undefined>
}

const PROOF_BYTES_MAX = 64 * 1024 * 1024
const TRUST_BYTES_MAX = 64 * 1024
/** Two bytes of length before each entry. */
const BUNDLE_ENTRY_BYTES_MAX = MAX_ENTRY_BYTES + 2

/** The client over HTTP or in process: the caller's transport decides. */
export function registryClient(caller: Caller): RegistryClient {
  return { ...readCalls(caller), ...writeCalls(caller), ...logCalls(caller) }
}

type RegistryReadCalls = Pick<
  RegistryClient,
  'head' | 'version' | 'name' | 'history' | 'proposals' | 'proposal' | 'proof' | 'trust'
>
type WriteCalls = Pick<
  RegistryClient,
  'propose' | 'proposeOnce' | 'approve' | 'commit' | 'adopt' | 'showCheckpoint' | 'auditHead'
>

function readCalls(caller: Caller): RegistryReadCalls {
  return {
    head: async (context) => await caller.call({ ...reading('head', 'registry/head'), read: readHead }, context),
    version: async (version, context) => {
      const artifact = await caller.call({ ...reading('version', `registry/${version}`), read: readArtifact }, context)
      if (artifact.version !== version) throw badAnswer(`is version ${artifact.version}, not ${version}`)
      return artifact
    },
    name: async (name, at, context) => {
      const path = `registry/names/${encodeURIComponent(name)}${at === undefined ? '' : `?at=${at}`}`
      try {
        const found = await caller.call({ ...reading('name', path), read: readNamedItem }, context)
        if (found.item.id !== name) throw badAnswer(`is about ${found.item.id}, not ${name}`)
        return found
      } catch (error) {
        if (isKind(error, 'NotFound') && error.status === 404) return undefined
        throw error
      }
    },
    history: async (name, before, limit, context) => {
      const path = `registry/names/${encodeURIComponent(name)}/history?before=${before}&limit=${limit}`
      return await caller.call({ ...reading('history', path), read: readVersions }, context)
    },
    proposals: async (after, context) => {
      const path = `registry/proposals${after === undefined ? '' : `?after=${after}`}`
      return await caller.call({ ...reading('proposals', path), read: readProposalPage }, context)
    },
    proposal: async (id, context) => {
      const path = `registry/proposals/${encodeURIComponent(id)}`
      const found = await caller.call({ ...reading('proposal', path), read: readProposal }, context)
      const isOther = found.status !== 'committed' && found.proposal.proposal_id !== id
      if (isOther) throw badAnswer('is another proposal')
      return found
    },
    proof: async (subject, from, context) => {
      const part = 'name' in subject ? `name/${encodeURIComponent(subject.name)}` : String(subject.version)
      const path = `registry/proof/${part}${from === undefined ? '' : `?from=${from}`}`
      return await caller.call({ ...reading('proof', path), read: bytesUpTo(PROOF_BYTES_MAX) }, context)
    },
    trust: async (context) =>
      parseTrust(
        await caller.call({ ...reading('trust', 'registry/trust'), read: bytesUpTo(TRUST_BYTES_MAX) }, context),
      ),
  }
}

function writeCalls(caller: Caller): WriteCalls {
  return {
    propose: async (payload, supersede, context) => {
      const body = { payload, ...(supersede === undefined ? {} : { supersede }) }
      const call = {
        ...writing('propose', 'registry/proposals', canonicalJson(body)),
        scope: 'registry:propose',
      } as const
      return await caller.call({ ...call, idempotent: false, read: readProposed }, context)
    },
    proposeOnce: async (id, payload, context) => {
      const body = canonicalJson({ payload, proposal_id: id })
      const call = { ...writing('propose_once', 'registry/proposals', body), scope: 'registry:propose' } as const
      try {
        await caller.call({ ...call, idempotent: true, read: readProposed }, context)
      } catch (error) {
        if (!isKind(error, 'Conflict') || error.code !== 'ProposalExists') throw error
      }
    },
    // Not repeated: after one that went through unheard, a second would be a duplicate.
    approve: async (id, approval, context) => {
      const path = `registry/approvals/${encodeURIComponent(id)}`
      const call = { ...writing('approve', path, canonicalJson(approval)), scope: 'registry:approve' } as const
      return await caller.call({ ...call, idempotent: false, read: readQuorum }, context)
    },
    commit: async (id, context) => {
      const path = `registry/commit/${encodeURIComponent(id)}`
      const call = { ...writing('commit', path, new Uint8Array(0)), scope: 'registry:commit' } as const
      return await caller.call({ ...call, headers: {}, idempotent: true, read: readVersionFacts }, context)
    },
    adopt: async (note, isMoved, context) => {
      const path = isMoved ? 'admin/adopt?moved=true' : 'admin/adopt'
      const call = { ...writing('adopt', path, note), scope: 'registry:admin' } as const
      const headers = { 'content-type': 'text/plain' }
      return await caller.call({ ...call, headers, idempotent: false, read: readAdopted }, context)
    },
    showCheckpoint: async (note, context) => {
      const call = { ...writing('show_checkpoint', 'log/checkpoint/seen', note), idempotent: true } as const
      return await caller.call({ ...call, headers: { 'content-type': 'text/plain' }, read: readKnown }, context)
    },
    auditHead: async (audit, context) => {
      const call = {
        ...writing('audit_head', 'log/audit-heads', canonicalJson(audit)),
        scope: 'registry:anchor',
      } as const
      return await caller.call({ ...call, idempotent: false, read: readLogIndex }, context)
    },
  }
}

function logCalls(caller: Caller): Omit<RegistryClient, keyof RegistryReadCalls | keyof WriteCalls> {
  return {
    checkpoint: async (context) =>
      await caller.call({ ...reading('checkpoint', 'log/checkpoint'), read: bytesUpTo(MAX_NOTE_BYTES) }, context),
    tile: async (tile, context) => {
      const length = tile.width * HASH_BYTES
      const bytes = await caller.call({ ...reading('tile', `log/${tilePath(tile)}`), read: bytesUpTo(length) }, context)
      if (bytes.length !== length) throw badAnswer(`has ${bytes.length} bytes, not ${tile.width} hashes`)
      return bytes
    },
    entries: async (index, width, context) => {
      const path = `log/${tilePath({ level: 'entries', index, width })}`
      const read = bytesUpTo(width * BUNDLE_ENTRY_BYTES_MAX)
      return decodeEntryBundle(await caller.call({ ...reading('entries', path), read }, context), width)
    },
    newestAuditHead: async (chain, context) => {
      const path = `log/audit-heads/${encodeURIComponent(chain)}`
      try {
        return await caller.call({ ...reading('audit_heads', path), read: readAnchoredHead }, context)
      } catch (error) {
        if (isKind(error, 'NotFound') && error.status === 404) return undefined
        throw error
      }
    },
    stream: (after, context) => followUpdates(caller, after, context),
  }
}

function reading(operation: string, path: string) {
  return { operation, path, method: 'GET', idempotent: true } as const
}

function writing(operation: string, path: string, body: Uint8Array) {
  return { operation, path, method: 'POST', headers: { 'content-type': 'application/json' }, body } as const
}
