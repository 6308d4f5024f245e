/**
 * A log made ready for its first command of this life.
 *
 *     empty ─▶ genesis: entry 0, durable ──────────────┐
 *                                                      ├─▶ entries without a checkpoint are signed now ─▶ published
 *     replayed ─▶ its last checkpoint held against it ─┘
 *
 * What was durable when the power went counts, acknowledged or not. Nothing is signed twice with another root, since
 * what is signed is what was durable.
 */
import { CairnError } from '@cairn/kernel'
import {
  createCommitLeaf,
  createGenesis,
  encodeLeaf,
  headOf,
  type LogIdentity,
  logIdentity,
  parseArtifact,
  proposalId,
  RegistryState,
  type SignerSet,
  signerSetOf,
} from '@cairn/names'
import type { Platform } from '@cairn/platform'
import { leafHash, openCheckpoint, parseCheckpoint, parseNote, type VerifierKey } from '@cairn/tlog'
import { equalBytes, parseJson, toHex } from '@cairn/wire'
import type { RegistryConfig } from '../config.ts'
import { damagedLog, otherGenesis } from '../errors.ts'
import { Archive } from './archive.ts'
import { firstUnsigned } from './chain-verifier.ts'
import { keepTrust, keptKeys } from './custody.ts'
import { artifactPart } from './decide-core.ts'
import { firstSigners, type ReadRoots, requireSameRoots } from './genesis.ts'
import type { LastCheckpoint } from './journal-replay.ts'
import { Ledger } from './ledger.ts'
import { CheckpointSigner, COSIGNER_KEY, LOG_KEY, type LogSeeds, logKeysOf } from './log-keys.ts'
import { type HeadCache, type Published, publish } from './published.ts'
import { leafDraft, partDraft } from './record.ts'
import type { LogWriter, OpenedLog, RegistryLog } from './registry-log.ts'

export interface StartedLog {
  readonly ledger: Ledger
  readonly signer: CheckpointSigner
  readonly published: Published
  /** It began just now, was found whole, or its last entries still had to be signed. */
  readonly how: 'begun' | 'found' | 'completed'
  /** Where the key of a signer lies that this start made for itself. */
  readonly ownSignerFile: string | undefined
}

export interface LogStartOptions {
  /** It came from a backup, and signs nothing. */
  readonly isRestored: boolean
  readonly seeds: LogSeeds | undefined
  readonly directory: string
  readonly config: RegistryConfig
  /** How far the log had come when that was last written down. */
  readonly cache: HeadCache | undefined
  readonly readRoots: ReadRoots
}

export async function startLog(platform: Platform, opened: OpenedLog, options: LogStartOptions): Promise<StartedLog> {
  const { log, writer, checkpoint } = opened
  const { directory, config, cache, isRestored } = options
  if (cache !== undefined && log.size < cache.size) throw cutShort(log.size, cache.size)
  const first =
    opened.ledger === undefined ? await firstSigners(platform, directory, config, options.readRoots) : undefined
  const ledger = first === undefined ? opened.ledger : await begin(platform, writer, first.signers)
  if (ledger === undefined) throw new CairnError('Internal', 'A log that has begun has a ledger.')
  if (opened.ledger !== undefined) await requireRoots(log, ledger, options)
  const signer = await signerOf(platform, identityOf(ledger, checkpoint, config), options)
  if (checkpoint !== undefined) await requireSigned(platform, log, signer, checkpoint)
  if (cache !== undefined) await requireReached(platform, log, signer, cache)
  const isComplete = checkpoint?.size === writer.size
  if (isRestored && !isComplete) throw damagedLog(writer.size, 'nothing of this log was ever signed.')
  const timedAt = platform.clock.wall()
  const note = isComplete ? checkpoint.note : signer.sign(writer.size, writer.root(), timedAt)
  if (!isComplete) await writer.checkpoint(partDraft('checkpoint', writer.size, writer.root(), note))
  const { state } = ledger
  const head = ledger.versions.facts(ledger.head.version)
  const facts = {
    head,
    state,
    size: writer.size,
    note,
    timedAt: timeOf(note, signer, platform),
    minimumIndex: log.minimumIndex,
  }
  if (!isRestored) await keepTrust(platform, directory, signer)
  const how = opened.ledger === undefined ? 'begun' : isComplete ? 'found' : 'completed'
  const published = publish(signer.identity.origin, facts)
  return { ledger, signer, published, how, ownSignerFile: first?.ownFile }
}

/** With the keys of the directory; one that is restored knows only their public halves. */
async function signerOf(
  platform: Platform,
  identity: LogIdentity,
  { directory, seeds, isRestored }: LogStartOptions,
): Promise<CheckpointSigner> {
  const keys =
    seeds === undefined ? await keptKeys(platform.disk, directory) : logKeysOf(platform, identity.origin, seeds)
  if (keys === undefined) {
    const detail = `The keys of the log are missing, and so is trust.json, which says whose signatures count. Restore them from a backup of ${directory}.`
    throw new CairnError('Integrity', detail, { code: 'KeyMissing' })
  }
  return new CheckpointSigner(platform, identity, keys, isRestored ? undefined : seeds)
}

/** Entry 0: version 0, the first signer set, which nobody approves. */
async function begin(platform: Platform, writer: LogWriter, signers: SignerSet): Promise<Ledger> {
  const now = Math.floor(platform.clock.wall())
  const artifact = createGenesis(signers, { proposal_id: proposalId(platform.random.bytes(16)), committed_at: now })
  const { payload, payload_b3, proposal } = artifact
  const item = signerSetOf(payload)
  const state = RegistryState.of(item === undefined ? [] : [item])
  const head = headOf(artifact)
  const entry = encodeLeaf(createCommitLeaf(artifact))
  const hash = leafHash(entry)
  const part = artifactPart(artifact, state, head.hash)
  const drafts = [partDraft(part.kind, 0, part.hash, part.bytes), leafDraft('genesis', 0, hash, entry)]
  const [record] = await writer.append(drafts, [hash])
  const ledger = new Ledger(head, state)
  const facts = { ...head, payload_b3, log_index: 0, committed_at: now }
  ledger.note(proposal.proposal_id, facts, payload.items, record?.place)
  return ledger
}

/** The origin is the log's own once it has signed anything. */
function identityOf(
  { versions }: Ledger,
  checkpoint: LastCheckpoint | undefined,
  { bootstrap }: RegistryConfig,
): LogIdentity {
  const { hash: genesis } = versions.facts(0)
  if (checkpoint === undefined) return logIdentity(bootstrap.origin, genesis)
  return { origin: parseCheckpoint(parseNote(checkpoint.note).text).origin, genesis }
}

async function requireRoots(
  log: RegistryLog,
  { versions }: Ledger,
  { config, readRoots }: LogStartOptions,
): Promise<void> {
  const { bytes } = await new Archive(log, versions).artifact(0)
  const item = signerSetOf(parseArtifact(parseJson(bytes)).payload)
  if (item === undefined) throw otherGenesis('Version 0 of the log installs no signer set.')
  await requireSameRoots(config, readRoots, item)
}

function cutShort(size: number, before: number): CairnError {
  return damagedLog(size, `it and all after it are missing; the log had ${before} entries.`)
}

/** Another log than HEAD was written for is not one to go on with. */
async function requireReached(
  platform: Platform,
  log: RegistryLog,
  signer: CheckpointSigner,
  { size, root }: HeadCache,
): Promise<void> {
  if (toHex(await log.rootAt(size)) !== root)
    throw await rewritten(platform, log, signer, size, 'the one that HEAD was written for')
}

/** The last checkpoint is by our keys and of the tree as it was then. */
async function requireSigned(
  platform: Platform,
  log: RegistryLog,
  signer: CheckpointSigner,
  { note, size }: LastCheckpoint,
): Promise<void> {
  const { origin } = signer.identity
  requireKey(LOG_KEY, signer.logKey, note)
  requireKey(COSIGNER_KEY, signer.cosignerKey, note)
  const trust = { origin, logKeys: [signer.logKey], cosignerKeys: [signer.cosignerKey] }
  const opened = expecting(size, () => openCheckpoint(note, trust, platform.crypto))
  if (opened.checkpoint.size !== size) throw damagedLog(size, 'the checkpoint after it is of another size.')
  if (!equalBytes(opened.checkpoint.root, await log.rootAt(size)))
    throw await rewritten(platform, log, signer, size, 'the one the checkpoint was signed for')
}

/** A key file that was exchanged would have the log speak with another voice from now on. */
function requireKey(file: string, { name, keyId }: VerifierKey, note: Uint8Array): void {
  const { signatures } = parseNote(note)
  if (signatures.some((line) => line.name === name && line.keyId === keyId)) return
  const detail = `The key file ${file} is not the key that signed the last checkpoint of ${name}. Restore it from a backup.`
  throw new CairnError('Integrity', detail, { code: 'KeyMismatch' })
}

/** Sums can be made anew by whoever rewrites an entry; roots that were signed cannot. */
async function rewritten(
  { crypto }: Platform,
  log: RegistryLog,
  signer: CheckpointSigner,
  size: number,
  whose: string,
): Promise<CairnError> {
  const stretch = await firstUnsigned(log, signer, crypto)
  if (stretch === undefined) return damagedLog(size - 1, `an entry up to it is not ${whose}.`)
  const { from, to } = stretch
  return damagedLog(from, `${from === to ? 'it' : `it, or one up to ${to},`} is not ${whose}.`)
}

function expecting<T>(size: number, step: () => T): T {
  try {
    return step()
  } catch (error) {
    if (!(error instanceof CairnError) || error.kind === 'Internal') throw error
    throw damagedLog(size, `the checkpoint after it is not by this log's key (${error.message}).`)
  }
}

function timeOf(note: Uint8Array, { identity, logKey, cosignerKey }: CheckpointSigner, { crypto }: Platform): number {
  const trust = { origin: identity.origin, logKeys: [logKey], cosignerKeys: [cosignerKey] }
  const [cosignature] = openCheckpoint(note, trust, crypto).cosignatures
  return (cosignature?.timestamp ?? 0) * 1000
}
