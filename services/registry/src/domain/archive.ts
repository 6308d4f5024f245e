/** Entries and artifacts as they were written, whatever has become of their segment. */
import { CairnError } from '@cairn/kernel'
import type { MapProof } from '@cairn/tlog'
import { addressOf } from '@cairn/wire'
import { pruned } from '../errors.ts'
import type { Versions } from './ledger.ts'
import { readArtifactRecord, signerSetProofOf } from './record.ts'
import type { RegistryLog } from './registry-log.ts'

export interface ArchivedArtifact {
  /** Canonical JSON. */
  readonly bytes: Uint8Array
  /** That its state names the signer set in force. */
  readonly signerSet: () => MapProof
  /** As it lies on the drive. */
  readonly record: Uint8Array
}

/**
 * What was read last stays in memory: genesis and HEAD are in every proof, also while the drive hangs, and whoever follows
 * the log asks for its last, unfinished tile after every commit.
 */
const RECENT_BYTES_MAX = 4 * 1024 * 1024

export class Archive {
  readonly #log: RegistryLog
  readonly #versions: Versions
  readonly #recent = new Map<string, Uint8Array>()
  #recentBytes = 0

  constructor(log: RegistryLog, versions: Versions) {
    this.#log = log
    this.#versions = versions
  }

  /** The bytes of an entry; `Pruned` if retention removed them. */
  async entry(index: number): Promise<Uint8Array> {
    // What is remembered may have been removed since.
    this.#log.entryBytes(index)
    return await this.#recall(`entry ${index}`, async () => await this.#log.entry(index))
  }

  /** How long these entries are together; `Pruned` if one of them is not there any more. */
  bundleBytes(from: number, to: number): number {
    let bytes = 0
    for (let index = from; index < to; index += 1) bytes += this.#log.entryBytes(index)
    return bytes
  }

  /** The artifact of a version that exists, held against its hash; `Pruned` if retention removed it. */
  async artifact(version: number): Promise<ArchivedArtifact> {
    const { log_index: index } = this.#versions.facts(version)
    const { minimumIndex } = this.#log
    if (index < minimumIndex && !this.#log.isKept(version)) throw pruned(`Version ${version}`, minimumIndex)
    const record = await this.#recall(`artifact ${version}`, async () => await this.fresh(version))
    return { bytes: readArtifactRecord(record).artifact, record, signerSet: () => signerSetProofOf(record) }
  }

  /** The record of an artifact as it lies on the drive now, held against its hash. */
  async fresh(version: number): Promise<Uint8Array> {
    const place = this.#versions.artifacts.at(version)
    const { log_index: index, hash } = this.#versions.facts(version)
    const isPruned = place === undefined || index < this.#log.minimumIndex
    const record = isPruned ? await this.#log.keptArtifact(version) : await this.#log.read(place)
    if (record === undefined) throw pruned(`Version ${version}`, this.#log.minimumIndex)
    if (addressOf(readArtifactRecord(record).artifact) !== hash)
      throw new CairnError('Integrity', `Version ${version} is not what it was when it was committed.`)
    return record
  }

  async #recall(key: string, read: () => Promise<Uint8Array>): Promise<Uint8Array> {
    const bytes = this.#recent.get(key) ?? (await read())
    this.#forget(key)
    // oxlint-disable-next-line cairn/check-then-act -- a record never changes: two reads of it return the same
    this.#recent.set(key, bytes)
    this.#recentBytes += bytes.length
    for (const [oldest] of this.#recent) {
      if (this.#recentBytes <= RECENT_BYTES_MAX) break
      this.#forget(oldest)
    }
    return bytes
  }

  #forget(key: string): void {
    this.#recentBytes -= this.#recent.get(key)?.length ?? 0
    this.#recent.delete(key)
  }
}
