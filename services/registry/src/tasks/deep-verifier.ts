/**
 * Reads the log again from the drive and proves it, in slices that nobody notices.
 *
 *     begin ─▶ entry after entry, up to what is published ─▶ the signed root ─▶ waits for the next version
 *                 ├─ every 256 entries the place is written down: a restart goes on from there
 *                 └─ the first entry that is wrong ends the round, and is named until a new round is asked for
 */
import { CairnError, Cancel, type Subscription, sleep, type TaskBody, toCairnError } from '@cairn/kernel'
import { parseArtifact, type SignerSetItem, signerSetOf } from '@cairn/names'
import { type Disk, type Platform, readSmallJson, replaceSmallJson } from '@cairn/platform'
import { openCheckpoint } from '@cairn/tlog'
import { parseJson } from '@cairn/wire'
import { z } from 'zod'
import { ChainVerifier } from '../domain/chain-verifier.ts'
import { readArtifactRecord } from '../domain/record.ts'
import type { RegistryParts } from '../parts.ts'
import type { Committed } from './committer.ts'

// How far the deep verifier has come, as it is written down and as it is told.

const positionSchema = z.strictObject({
  /** Entries below it were proved in this round. */
  next: z.int().min(0),
  /** The first entry that was wrong, and why; null if none was. */
  bad: z.strictObject({ index: z.int().min(0), why: z.string() }).nullable(),
  /** Unix milliseconds of the last round that reached the end; null before there was one. */
  completed_at: z.number().nullable(),
})

export type VerifyPosition = z.output<typeof positionSchema>

const VERIFY_START: VerifyPosition = { next: 0, bad: null, completed_at: null }

export interface VerifyReport extends VerifyPosition {
  readonly size: number
  /** 0 to 1. */
  readonly progress: number
}

async function readVerifyPosition(disk: Disk, path: string): Promise<VerifyPosition> {
  const read = await readSmallJson(disk, path, positionSchema)
  // A place that cannot be read costs one round from the beginning, nothing else.
  return read.tag === 'read' ? read.value : VERIFY_START
}

async function writeVerifyPosition(disk: Disk, path: string, value: VerifyPosition): Promise<void> {
  await replaceSmallJson(disk, path, value)
}

export type VerifierParts = Pick<RegistryParts, 'log' | 'archive' | 'ledger' | 'published' | 'signer' | 'crypto'>

export interface VerifierOptions {
  readonly directory: string
  readonly committed: Subscription<Committed>
  /** The entry after which the start found a checkpoint that cannot be read. */
  readonly damagedAfter: number | undefined
}

/** Work in one go, and the pause after it: nine times as long, so that requests have nine tenths of the time. */
const SLICE_MS = 8
const SLICE_ENTRIES = 64
const PAUSE_MS_MIN = 10
const PAUSE_TIMES = 9
const SAVE_EVERY = 256
/** Before the drive is asked again after it failed. */
const RETRY_MS = 5_000
/** Everything is read again about once a day. */
const ROUND_INTERVAL_MS = 24 * 60 * 60 * 1000

export class DeepVerifier {
  readonly #platform: Platform
  readonly #parts: VerifierParts
  readonly #path: string
  readonly #committed: Subscription<Committed>
  /** What the start found: it is told until a round is asked for, which finds it again. */
  readonly #damagedAfter: number | undefined
  #place: VerifyPosition = VERIFY_START
  /** Whether `#place` is this life's: read from the drive, or asked for before that. */
  #isPlaced = false
  #chain: ChainVerifier | undefined
  /** Ends the wait for the next version. */
  #wait: Cancel | undefined

  constructor(platform: Platform, parts: VerifierParts, { directory, committed, damagedAfter }: VerifierOptions) {
    this.#platform = platform
    this.#parts = parts
    this.#path = `${directory}/verify.json`
    this.#committed = committed
    this.#damagedAfter = damagedAfter
  }

  /** A round from the beginning, now. */
  begin(): void {
    this.#isPlaced = true
    this.#chain = undefined
    this.#place = { ...VERIFY_START, completed_at: this.#place.completed_at }
    this.#wait?.abort()
  }

  report(): VerifyReport {
    const { size } = this.#parts.published.value
    return { ...this.#place, size, progress: Math.min(1, this.#place.next / size) }
  }

  readonly run: TaskBody = async ({ draining }) => {
    await this.#resume()
    for (;;) {
      try {
        await this.#round(draining)
      } catch (error) {
        if (draining.aborted) throw error
        this.#platform.log.warn({ error: toCairnError(error).message }, 'the deep verifier waits for the drive')
        await sleep(this.#platform.clock, RETRY_MS, { signal: draining })
        continue
      }
      await this.#untilDue(draining)
    }
  }

  /** Goes on where the last life was, unless somebody has asked for a round from the beginning meanwhile. */
  async #resume(): Promise<void> {
    const before = await readVerifyPosition(this.#platform.disk, this.#path)
    if (this.#isPlaced) {
      this.#place = { ...this.#place, completed_at: this.#place.completed_at ?? before.completed_at }
      return
    }
    this.#isPlaced = true
    this.#place = before
    if (this.#damagedAfter === undefined || before.bad !== null) return
    this.#found(this.#damagedAfter, 'the checkpoint after it is damaged.')
  }

  #found(index: number, why: string): void {
    this.#place = { ...this.#place, bad: { index, why } }
    this.#platform.log.error({ index, why }, 'the log is damaged')
  }

  /** Proves what is published and not proved yet, slice by slice. */
  async #round(draining: AbortSignal): Promise<void> {
    const { published } = this.#parts
    while (this.#place.bad === null && this.#place.next < published.value.size) {
      if (this.#chain === undefined) await this.#open()
      // A round from the beginning was asked for while the old one was being opened.
      const { clock } = this.#platform
      const beganAt = clock.now()
      if (this.#chain?.index !== this.#place.next) this.#chain = undefined
      else await this.#slice(this.#chain, published.value.size)
      this.#tell()
      const pauseMs = Math.max(PAUSE_MS_MIN, PAUSE_TIMES * (clock.now() - beganAt))
      await sleep(clock, pauseMs, { signal: draining })
    }
    await this.#save()
  }

  async #slice(chain: ChainVerifier, size: number): Promise<void> {
    const { clock, metrics } = this.#platform
    const beganAt = clock.now()
    for (let count = 0; count < SLICE_ENTRIES && clock.now() - beganAt < SLICE_MS; count += 1) {
      const { index } = chain
      const why = await this.#examine(chain)
      // A new round was asked for meanwhile.
      if (this.#chain !== chain) return
      metrics.count('registry_verified_entries_total')
      if (why !== undefined) {
        this.#found(index, why)
        break
      }
      this.#place = { ...this.#place, next: index + 1 }
      if (index + 1 === size) {
        this.#reached(chain, size)
        break
      }
      if ((index + 1) % SAVE_EVERY === 0) await this.#save()
    }
    metrics.observe('audit_chain_verify_seconds', (clock.now() - beganAt) / 1000)
  }

  /** Why the next entry is wrong. A drive that cannot read now is another matter: that is thrown. */
  async #examine(chain: ChainVerifier): Promise<string | undefined> {
    try {
      return await chain.next()
    } catch (error) {
      if (error instanceof CairnError && (error.kind === 'Integrity' || error.kind === 'Malformed'))
        return error.message
      throw error
    }
  }

  /** All of it was read: the tree must have the root that was signed. */
  #reached(chain: ChainVerifier, size: number): void {
    const { published, signer, crypto } = this.#parts
    const { note, size: noted } = published.value
    // Another batch came since; its end is the next thing to reach.
    if (noted !== size) return
    const { identity, logKey } = signer
    const { checkpoint } = openCheckpoint(note, { ...identity, logKeys: [logKey], cosignerKeys: [] }, crypto)
    if (chain.isRoot(checkpoint.root)) this.#place = { ...this.#place, completed_at: this.#platform.clock.wall() }
    else this.#found(size - 1, 'the tree up to it is not the one that was signed.')
  }

  async #open(): Promise<void> {
    const { log, archive, ledger, signer, crypto } = this.#parts
    const index = Math.max(this.#place.next, log.minimumIndex)
    this.#place = { ...this.#place, next: index }
    const before = ledger.versionsBelow(index) - 1
    const head = before < 0 ? undefined : ledger.facts(before)
    const artifact = async (version: number): Promise<Uint8Array> =>
      readArtifactRecord(await archive.fresh(version)).artifact
    const sources = { log, keys: signer, verifier: crypto, artifact }
    const signerSet = await this.#signerSetAt(before)
    const chain = await ChainVerifier.open(sources, { index, head, signerSet })
    this.#chain = chain
  }

  async #signerSetAt(version: number): Promise<SignerSetItem | undefined> {
    const installed = this.#parts.ledger.signerSetVersions().findLast((each) => each <= version)
    if (installed === undefined) return undefined
    const { bytes } = await this.#parts.archive.artifact(installed)
    return signerSetOf(parseArtifact(parseJson(bytes)).payload)
  }

  /** Until the next version, or somebody asks, or it is time to read everything again. */
  async #untilDue(draining: AbortSignal): Promise<void> {
    const { clock } = this.#platform
    const { completed_at: last } = this.#place
    const waitMs = last === null ? ROUND_INTERVAL_MS : Math.max(1, last + ROUND_INTERVAL_MS - clock.wall())
    using wait = new Cancel({ signals: [draining] })
    const timer = clock.timer(waitMs, () => this.begin())
    this.#wait = wait
    try {
      const heard = await this.#committed.recv({ signal: wait.signal })
      if (heard.tag === 'closed') await sleep(clock, waitMs, { signal: draining })
    } catch (error) {
      if (draining.aborted) throw error
    } finally {
      timer.cancel()
      this.#wait = undefined
    }
  }

  #tell(): void {
    const { metrics } = this.#platform
    metrics.set('registry_verify_progress', this.report().progress)
    metrics.set('registry_verify_bad_index', this.#place.bad?.index ?? -1)
  }

  /** A place that cannot be written costs some entries read twice after a restart, nothing else. */
  async #save(): Promise<void> {
    this.#tell()
    try {
      await writeVerifyPosition(this.#platform.disk, this.#path, this.#place)
    } catch (error) {
      this.#platform.log.warn({ error }, 'the place of the deep verifier was not written down')
    }
  }
}
