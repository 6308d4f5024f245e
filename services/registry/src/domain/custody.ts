/**
 * Whether this directory may go on signing for its log. A backup has no keys, and what was restored from one, or put
 * back from a copy, may have forgotten what the world has seen: were it to sign on, the log would have two histories.
 *
 *     restored           that it came from a backup: it only reads until somebody adopts it
 *     seen-checkpoint    one that this log has signed and that is not of what is here: it only reads
 *     trust.json         whose signatures count, for a directory that has lost its keys
 */
import { CairnError, isKind } from '@cairn/kernel'
import { encodeTrust, parseTrust, type TrustFile } from '@cairn/names'
import { type Disk, type Platform, readSmallFile, replaceSmallFile } from '@cairn/platform'
import { type Checkpoint, openCheckpoint, parseCheckpoint, parseNote, type SignatureVerifier } from '@cairn/tlog'
import { equalBytes } from '@cairn/wire'
import { adoptRefused } from '../errors.ts'
import { type CheckpointSigner, hasLogKeys, type LogKeys } from './log-keys.ts'
import type { RegistryLog } from './registry-log.ts'
import type { SignedRecords } from './signed-record.ts'

const MARK = 'restored'
const SEEN = 'seen-checkpoint'
const TRUST = 'trust.json'

/** Why a registry from a backup only reads. */
const RESTORED =
  'it was restored from a backup and might not know all it has signed. Show it the newest checkpoint that was seen elsewhere: cairn registry adopt --checkpoint FILE; or, if nothing was signed since the backup: cairn registry adopt --moved'

const OWN_NEWEST =
  'This is the newest checkpoint of this very log, as it shows it itself: it cannot tell what the log has forgotten. Stop the old node, and copy logs/ of its state directory (~/.local/state/cairn) into the one here; without that, show a checkpoint that was kept elsewhere, or, if nothing was signed since the backup or the move, say so: cairn registry adopt --moved'

export async function isRestored(disk: Disk, directory: string): Promise<boolean> {
  return (await readSmallFile(disk, `${directory}/${MARK}`)) !== undefined
}

export async function markRestored(disk: Disk, directory: string): Promise<void> {
  await replaceSmallFile(disk, `${directory}/${MARK}`, new TextEncoder().encode('see: cairn registry adopt\n'))
}

/** Writes down whose signatures count, unless that is there already. */
export async function keepTrust(platform: Platform, directory: string, signer: CheckpointSigner): Promise<void> {
  const path = `${directory}/${TRUST}`
  const bytes = encodeTrust({ ...signer.identity, logKeys: signer.keys })
  const there = await readSmallFile(platform.disk, path)
  if (there === undefined || !equalBytes(there, bytes)) await replaceSmallFile(platform.disk, path, bytes)
}

/** The public halves as they were last written down; nothing if they are not there. */
export async function keptKeys(disk: Disk, directory: string): Promise<LogKeys | undefined> {
  const path = `${directory}/${TRUST}`
  const bytes = await readSmallFile(disk, path)
  if (bytes === undefined) return undefined
  const { logKeys } = trustIn(path, bytes)
  const [logKey, cosignerKey, quantumKey] = (['ed25519', 'ed25519-cosignature', 'ml-dsa-44-cosignature'] as const).map(
    (type) => logKeys.find((key) => key.type === type),
  )
  return logKey === undefined || cosignerKey === undefined ? undefined : { logKey, cosignerKey, quantumKey }
}

/** Nothing else here knows what a directory without keys needs of it, so that a damaged one is not written anew. */
function trustIn(path: string, bytes: Uint8Array): TrustFile {
  try {
    return parseTrust(bytes)
  } catch (cause) {
    const detail = `The file ${path}, which says whose signatures count, is damaged; restore it from a backup.`
    throw new CairnError('Integrity', detail, { cause })
  }
}

/** A checkpoint of this log that is not of what is here. */
interface Missed {
  readonly note: Uint8Array
  readonly size: number
  /** What it is of is more than what is here; otherwise it is of something else. */
  readonly isLarger: boolean
}

type Keys = { readonly origin: string } & Pick<LogKeys, 'logKey'>

/** The checkpoint, if this log signed it. */
function openOwn(note: Uint8Array, { origin, logKey }: Keys, verifier: SignatureVerifier): Checkpoint {
  try {
    return openCheckpoint(note, { origin, logKeys: [logKey], cosignerKeys: [] }, verifier).checkpoint
  } catch (cause) {
    if (!isKind(cause, 'Integrity')) throw cause
    const detail = `This is no checkpoint that ${origin} has signed: ${cause.message}`
    throw new CairnError('Malformed', detail, { code: 'InvalidSig', status: 422, cause })
  }
}

/** What of this checkpoint is not here; nothing if all of it is. */
async function missedOf(log: RegistryLog, note: Uint8Array, { size, root }: Checkpoint): Promise<Missed | undefined> {
  if (size > log.size) return { note, size, isLarger: true }
  return equalBytes(root, await log.rootAt(size)) ? undefined : { note, size, isLarger: false }
}

/**
 * What is known to have been signed and is not here, from the directory itself or from outside of it; written down, so
 * that the next start knows it too. A note outside that this log did not sign says nothing.
 */
export async function findMissed(
  platform: Pick<Platform, 'disk' | 'crypto' | 'log'>,
  directory: string,
  { log, keys, records }: { readonly log: RegistryLog; readonly keys: Keys; readonly records: SignedRecords },
): Promise<Missed | undefined> {
  const notes = [await readSmallFile(platform.disk, `${directory}/${SEEN}`), await records.read(keys.origin)]
  for (const note of notes) {
    if (note === undefined) continue
    try {
      const missed = await missedOf(log, note, openOwn(note, keys, platform.crypto))
      if (missed === undefined) continue
      await keepSeen(platform.disk, directory, note)
      return missed
    } catch (error) {
      if (!isKind(error, 'Malformed')) throw error
      platform.log.warn({ error: error.message }, 'a checkpoint that is kept beside the log was not signed by it')
    }
  }
  return undefined
}

async function keepSeen(disk: Disk, directory: string, note: Uint8Array): Promise<void> {
  await replaceSmallFile(disk, `${directory}/${SEEN}`, note)
}

function describeMissed({ size, isLarger }: Missed, here: number): string {
  const what = isLarger
    ? `it has signed ${size} entries, and ${here} are here`
    : `it has signed something else for its first ${size} entries`
  return `its directory was put back from an older copy, or another copy of it signs too: ${what}. Put the newest copy back, then: cairn registry adopt --checkpoint FILE`
}

export interface CustodyParts {
  readonly log: RegistryLog
  readonly signer: CheckpointSigner
  readonly records: SignedRecords
  readonly isRestored: boolean
  readonly missed: Missed | undefined
  /** The newest checkpoint of the log itself. */
  readonly own: () => Uint8Array
}

type CustodyState =
  | { readonly tag: 'own' }
  | { readonly tag: 'restored' }
  | { readonly tag: 'missed'; readonly missed: Missed }
  | { readonly tag: 'adopted' }

export class Custody {
  readonly #platform: Pick<Platform, 'disk' | 'crypto' | 'log'>
  readonly #directory: string
  readonly #parts: CustodyParts
  readonly #keys: Keys
  #state: CustodyState

  constructor(platform: Pick<Platform, 'disk' | 'crypto' | 'log'>, directory: string, parts: CustodyParts) {
    const { signer, missed, isRestored } = parts
    this.#platform = platform
    this.#directory = directory
    this.#parts = parts
    this.#keys = { origin: signer.identity.origin, logKey: signer.logKey }
    if (missed !== undefined) this.#state = { tag: 'missed', missed }
    else this.#state = { tag: isRestored ? 'restored' : 'own' }
  }

  /** Why nothing is written; nothing where this registry may sign. */
  get problem(): string | undefined {
    const state = this.#state
    switch (state.tag) {
      case 'own':
        return undefined
      case 'restored':
        return RESTORED
      case 'missed':
        return describeMissed(state.missed, this.#parts.log.size)
      case 'adopted':
        return 'it was adopted; start the node again to let it write.'
    }
  }

  /**
   * Somebody shows a checkpoint of this log. Whether it is of what is here; one that is not ends all writing at once.
   * `InvalidSig` for one that this log did not sign.
   */
  async show(note: Uint8Array): Promise<{ readonly size: number; readonly isKnown: boolean }> {
    const { disk, crypto, log } = this.#platform
    const checkpoint = openOwn(note, this.#keys, crypto)
    const { size } = checkpoint
    const missed = await missedOf(this.#parts.log, note, checkpoint)
    if (missed === undefined) return { size, isKnown: true }
    const state = this.#state
    if (state.tag === 'missed' && state.missed.size >= size) return { size, isKnown: false }
    // At once, and before the drive is asked: what is signed from here on would be a second history.
    this.#state = { tag: 'missed', missed }
    log.error({ size, here: this.#parts.log.size }, 'a checkpoint was shown that is not of this log any more')
    await keepSeen(disk, this.#directory, note)
    return { size, isKnown: false }
  }

  /** The same for a note that we kept ourselves: one that this log did not sign says nothing, and counts as known. */
  async showOwn(note: Uint8Array): Promise<boolean> {
    try {
      return (await this.show(note)).isKnown
    } catch (error) {
      if (isKind(error, 'Malformed')) return true
      throw error
    }
  }

  /** Lets the next start write again, once this checkpoint shows that nothing is missing here. Gives its size. */
  async adopt(note: Uint8Array, { isMoved }: { readonly isMoved: boolean }): Promise<number> {
    const { disk } = this.#platform
    const state = this.#state
    if (state.tag === 'own')
      throw adoptRefused('NotRestored', 'This registry was not restored or put back: there is nothing to adopt.')
    const size = await this.#requireProof(note, isMoved, state)
    await this.#requireKeys()
    // Shown meanwhile: what was asked for does not stand any more.
    if (this.#state !== state) throw adoptRefused('Behind', 'A newer checkpoint was shown just now; ask again.')
    for (const name of [MARK, SEEN]) await dropFile(disk, `${this.#directory}/${name}`)
    await disk.syncDirectory(this.#directory)
    this.#state = { tag: 'adopted' }
    return size
  }

  async #requireProof(note: Uint8Array, isMoved: boolean, state: CustodyState): Promise<number> {
    const own = this.#parts.own()
    const size = await this.#requireHere(isMoved && note.length === 0 ? own : note)
    // Whatever is shown: all that is known to have been signed has to be here.
    if (state.tag === 'missed') await this.#requireHere(state.missed.note)
    const outside = await this.#parts.records.read(this.#keys.origin)
    if (outside !== undefined) await this.#requireHere(outside)
    else if (!isMoved && isOwnNewest(note, own)) throw adoptRefused('OwnCheckpoint', OWN_NEWEST)
    return size
  }

  /** Refuses unless all of it is here. */
  async #requireHere(note: Uint8Array): Promise<number> {
    const { log } = this.#parts
    const checkpoint = openOwn(note, this.#keys, this.#platform.crypto)
    const missed = await missedOf(log, note, checkpoint)
    const { size } = checkpoint
    if (missed === undefined) return size
    if (!missed.isLarger)
      throw adoptRefused('Forked', `The first ${size} entries here are not those the checkpoint was signed for.`)
    const detail = `The log had ${size} entries, and only ${log.size} are here: a newer backup or copy is needed.`
    throw adoptRefused('Behind', detail)
  }

  /** Without them the next start would take it for restored again. */
  async #requireKeys(): Promise<void> {
    if (await hasLogKeys(this.#platform, this.#directory)) return
    const detail = `The keys of the log are not here: put them into ${this.#directory}/keys, from wherever they are kept, and ask again.`
    throw adoptRefused('NoKeys', detail)
  }
}

async function dropFile(disk: Disk, path: string): Promise<void> {
  try {
    await disk.unlink(path)
  } catch (error) {
    if (!isKind(error, 'NotFound')) throw error
  }
}

/** Every signature that the log shows under its newest checkpoint, its time among them, is under this one too. */
function isOwnNewest(shown: Uint8Array, own: Uint8Array): boolean {
  const [a, b] = [parseNote(shown), parseNote(own)]
  if (a.text !== b.text) return false
  return b.signatures.every((line) =>
    a.signatures.some((each) => each.keyId === line.keyId && equalBytes(each.signature, line.signature)),
  )
}

/** What the log of this note is called. */
export function originIn(note: Uint8Array): string {
  return parseCheckpoint(parseNote(note).text).origin
}
