/**
 * Removes old entries where retention says so; the only one who takes anything out of the log.
 *
 *     anchor ─▶ how far? ─▶ the state written out, its address into the log ─▶ a new base, durable ─▶ segments removed
 *
 * Hashes stay, so that every entry that ever was is still proved; artifacts of what is alive and of every signer set
 * stay; HEAD is not touched. A prune that is cut off leaves a base too many or segments too many, never one too few.
 */
import { Deadline, type Queue, sleep, type TaskBody, toCairnError } from '@cairn/kernel'
import { itemKey } from '@cairn/names'
import type { MaintenanceLock, Platform } from '@cairn/platform'
import { addressOf } from '@cairn/wire'
import type { RegistryConfig } from '../config.ts'
import type { Archive } from '../domain/archive.ts'
import {
  type BaseHeader,
  BaseWriter,
  baseName,
  encodeBaseItem,
  encodeBaseVersion,
  readBase,
} from '../domain/base-file.ts'
import type { CrashPointHook } from '../domain/crash-points.ts'
import type { Ledger } from '../domain/ledger.ts'
import type { LogTrimmer, RegistryLog } from '../domain/registry-log.ts'
import { pruneBelow } from '../domain/retention-core.ts'
import type { CommandIntake } from '../intake.ts'
import type { Anchor } from './checkpointor.ts'

export interface PrunerParts {
  readonly retention: Queue<Anchor>
  readonly config: () => RegistryConfig
  readonly directory: string
  readonly ledger: Ledger
  readonly log: RegistryLog
  readonly archive: Archive
  readonly trimmer: LogTrimmer
  readonly intake: CommandIntake
  readonly maintenanceLock: MaintenanceLock
  readonly reach: CrashPointHook
}

/** What is encoded, copied or looked at before others get a turn: a few milliseconds. */
const SLICE = 256
const HASHES_SLICE = 32 * 1024
const COMMAND_MS = 30_000
/** Attempts to have the state written into the log before HEAD moves on again. */
const SNAPSHOT_TRIES = 5

/** The state at a version, and where it can be found. */
interface StateSnapshot {
  readonly version: number
  readonly stateRoot: string
  readonly lines: Uint8Array
}

export class Pruner {
  readonly #platform: Platform
  readonly #parts: PrunerParts

  constructor(platform: Platform, parts: PrunerParts) {
    this.#platform = platform
    this.#parts = parts
  }

  readonly run: TaskBody = async ({ draining }) => {
    // What an earlier life pruned and did not get to remove.
    await this.#attempt(async () => void (await this.#parts.trimmer.removeBelow()), draining)
    for (;;) {
      const next = await this.#parts.retention.recv({ signal: draining })
      if (next.tag === 'closed') return
      await this.#attempt(async () => await this.#prune(next.item, draining), draining)
    }
  }

  /** A drive that fails leaves the work for the next round. */
  async #attempt(work: () => Promise<void>, draining: AbortSignal): Promise<void> {
    try {
      await this.#parts.maintenanceLock.work(work, { signal: draining })
    } catch (error) {
      if (draining.aborted) throw error
      this.#platform.metrics.count('registry_prune_skipped_total', { reason: 'drive' })
      this.#platform.log.warn({ error: toCairnError(error).message }, 'nothing was pruned this time')
    }
  }

  async #prune(anchor: Anchor, draining: AbortSignal): Promise<void> {
    const minimumIndex = this.#minimumFor(anchor)
    if (minimumIndex === undefined) return
    const { log, trimmer, directory, reach } = this.#parts
    const before = log.minimumIndex
    const snapshot = await this.#snapshot(draining)
    if (snapshot === undefined) return
    await this.#writeBase(minimumIndex, snapshot)
    // Read back before anything it stands for goes.
    trimmer.adopt(await readBase(this.#platform.disk, `${directory}/${baseName(minimumIndex)}`, () => {}))
    this.#platform.metrics.count('registry_pruned_entries_total', {}, minimumIndex - before)
    await reach('mid-prune')
    await this.#ask({ tag: 'checkpoint' }, draining)
    await trimmer.removeBelow()
  }

  #minimumFor({ size }: Anchor): number | undefined {
    const { trimmer, ledger, config } = this.#parts
    const { retention: policy } = config()
    if (policy.policy === 'off') return undefined
    const [oldest] = ledger.proposals()
    return pruneBelow({
      policy,
      starts: trimmer.starts(),
      anchor: size,
      oldestOpen: oldest?.logIndex,
      committedBefore: (ms) => ledger.lastBefore(ms)?.log_index,
      now: this.#platform.clock.wall(),
    })
  }

  /** The state as it stands, once the log says where it is; nothing if HEAD would not hold still for it. */
  async #snapshot(draining: AbortSignal): Promise<StateSnapshot | undefined> {
    for (let tries = 0; tries < SNAPSHOT_TRIES; tries += 1) {
      const { head, state } = this.#parts.ledger
      const lines = await this.#encodeState(draining)
      try {
        await this.#ask({ tag: 'snapshot', version: head.version, address: addressOf(lines) }, draining)
        return { version: head.version, stateRoot: state.root, lines }
      } catch (error) {
        if (toCairnError(error).kind !== 'ChainMismatch') throw error
      }
    }
    this.#platform.log.warn({}, 'HEAD moves too fast for a snapshot; nothing is pruned this time')
    return undefined
  }

  async #encodeState(draining: AbortSignal): Promise<Uint8Array> {
    const { ledger } = this.#parts
    const lines: Uint8Array[] = []
    const { head, state } = ledger
    for (const [at, item] of state.items().entries()) {
      const version = ledger.changedBy(itemKey(item), head.version) ?? 0
      lines.push(encodeBaseItem({ version, item }))
      if (at % SLICE === SLICE - 1) await this.#breathe(draining)
    }
    return Buffer.concat(lines)
  }

  async #writeBase(minimumIndex: number, snapshot: StateSnapshot): Promise<void> {
    const { ledger, directory, log, archive } = this.#parts
    const versions = ledger.versionsBelow(minimumIndex)
    const signerSets = ledger.signerSetVersions().filter((version) => version < versions)
    const kept = this.#keptVersions(versions)
    const header: BaseHeader = {
      format: 'cairn.registry-base/1',
      minimum_index: minimumIndex,
      versions,
      state_version: snapshot.version,
      state_root: snapshot.stateRoot,
      state_bytes: snapshot.lines.length,
      signer_sets: signerSets,
      artifacts: kept.length,
    }
    const writer = await BaseWriter.open(this.#platform.disk, directory, header)
    try {
      for (let at = 0; at < minimumIndex; at += HASHES_SLICE)
        await writer.write(log.leafHashes(at, Math.min(minimumIndex, at + HASHES_SLICE)))
      const proposalIds = ledger.proposalIds()
      for (let version = 0; version < versions; version += 1) {
        const facts = ledger.versions.facts(version)
        await writer.write(encodeBaseVersion({ facts, proposalId: proposalIds.get(version) ?? '' }))
      }
      await writer.write(snapshot.lines)
      for (const version of kept) await writer.writeArtifact(version, (await archive.artifact(version)).record)
      await writer.finish()
    } finally {
      await writer.close()
    }
  }

  /** Below `versions`: what describes something that stands, every signer set, and HEAD. */
  #keptVersions(versions: number): number[] {
    const { ledger } = this.#parts
    const kept = new Set([...ledger.liveVersions(), ...ledger.signerSetVersions(), ledger.head.version])
    return [...kept].filter((version) => version < versions).sort((a, b) => a - b)
  }

  async #ask(command: Parameters<CommandIntake['ask']>[0], draining: AbortSignal): Promise<void> {
    const deadline = Deadline.after(this.#platform.clock, COMMAND_MS)
    await this.#parts.intake.ask(command, { deadline, signal: draining })
  }

  async #breathe(draining: AbortSignal): Promise<void> {
    await sleep(this.#platform.clock, 0, { signal: draining })
  }
}
