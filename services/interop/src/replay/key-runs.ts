/**
 * All replay keys that are on the drive: a few sorted runs, the small ones merged into larger ones.
 *
 *     memory ── many, or their segment goes ──▶ run │ run │ run │ run ── four of one size ──▶ one, four times as large
 *
 * The journal says which runs count, in a record that is durable before what they replace may go. So a crash leaves the
 * old ones or the new ones in force, and files that no record names are removed at the next start.
 */
import { type CairnError, isKind, toCairnError } from '@cairn/kernel'
import { compareBytes } from '@cairn/wire'
import { HOUR_MS, type KeyDrive, type KeyItem, KeyRun, KeyRunWriter } from './key-run.ts'

/** Runs of one size, each a power of this times larger than the smallest, before they become one. */
const MERGE_RUNS = 4
const SMALLEST_ITEMS = 32_768

export class KeyRuns {
  readonly #drive: KeyDrive
  readonly #directory: string
  readonly #opened = new Map<string, KeyRun>()
  #names: readonly string[] = []
  #next = 1

  private constructor(drive: KeyDrive, directory: string) {
    this.#drive = drive
    this.#directory = directory
  }

  /**
   * Opens the runs of these names, and tells of those that cannot be opened. Others that are there go, unless they may be
   * all that is left: then they are opened too.
   */
  static async open(
    drive: KeyDrive,
    directory: string,
    { names, keepsOthers }: { readonly names: readonly string[]; readonly keepsOthers: boolean },
  ): Promise<{ readonly runs: KeyRuns; readonly damaged: readonly string[] }> {
    const runs = new KeyRuns(drive, directory)
    await drive.disk.makeDirectory(directory)
    const damaged: string[] = []
    const found = (await drive.disk.list(directory)).map(({ name }) => name)
    for (const name of found) {
      if (names.includes(name) || (keepsOthers && name.endsWith('.keys'))) continue
      await drive.disk.unlink(`${directory}/${name}`)
    }
    const wanted = new Set([...names, ...(keepsOthers ? found.filter((name) => name.endsWith('.keys')) : [])])
    for (const name of wanted) {
      try {
        await runs.adopt(name)
      } catch (error) {
        if (!isKind(error, 'Integrity') && !isKind(error, 'NotFound')) throw error
        damaged.push(name)
      }
    }
    runs.use([...runs.#opened.keys()])
    runs.#next = 1 + Math.max(0, ...[...wanted].map((name) => Number.parseInt(name, 10)))
    return { runs, damaged }
  }

  get names(): readonly string[] {
    return this.#names
  }

  /** Keys that are here; one may be counted twice until its runs are merged. */
  get items(): number {
    return this.#active().reduce((sum, { items }) => sum + items, 0)
  }

  /** Whether one of these keys is here and counts. */
  async has(hashes: readonly Uint8Array[], nowMs: number): Promise<boolean> {
    // Which runs those are is settled before the first wait.
    for (const run of this.#active()) {
      for (const hash of hashes) {
        const hour = await run.find(hash)
        if (hour !== undefined && hour * HOUR_MS > nowMs) return true
      }
    }
    return false
  }

  /** Those of which a block is not what was written. */
  async damaged(): Promise<string[]> {
    const names: string[] = []
    for (const name of this.#names) {
      try {
        for await (const _batch of this.#opened.get(name)?.batches() ?? []) continue
      } catch (error) {
        if (!isKind(error, 'Integrity')) throw error
        names.push(name)
      }
    }
    return names
  }

  /** Makes a run of these, durable, and opens it; it counts once `use` names it. */
  async write(items: readonly KeyItem[]): Promise<string> {
    return await this.#made(items.length, async (writer) => {
      for (const item of items) await writer.add(item)
    })
  }

  /** Opens a run that is on the drive. */
  async adopt(name: string): Promise<void> {
    this.#opened.set(name, await KeyRun.open(this.#drive, `${this.#directory}/${name}`))
  }

  /** From this step on these count, and no others. */
  use(names: readonly string[]): void {
    this.#names = names.filter((name) => this.#opened.has(name))
  }

  /** What should become one run, or nothing: names that go, and what stands for them. */
  async merged(
    nowMs: number,
  ): Promise<{ readonly from: readonly string[]; readonly to: readonly string[] } | undefined> {
    const from = this.#mergeable(nowMs)
    if (from.length === 0) return undefined
    const runs = from.flatMap((name) => this.#opened.get(name) ?? [])
    const itemsMax = runs.reduce((sum, { items }) => sum + items, 0)
    const name = await this.#made(itemsMax, async (writer) => {
      for await (const item of mergedItems(runs)) if (item.hour * HOUR_MS > nowMs) await writer.add(item)
    })
    return { from, to: this.#opened.has(name) ? [name] : [] }
  }

  /** Closes and removes whatever does not count. */
  async sweep(): Promise<void> {
    for (const [name, run] of this.#opened) {
      if (this.#names.includes(name)) continue
      this.#opened.delete(name)
      await run.close()
      await this.#drive.disk.unlink(run.path)
    }
  }

  /** Takes no part any more: what it holds is given up. */
  async giveUp(names: readonly string[]): Promise<void> {
    this.use(this.#names.filter((name) => !names.includes(name)))
    await this.sweep()
  }

  async close(): Promise<void> {
    for (const run of this.#opened.values()) await run.close()
    this.#opened.clear()
    this.#names = []
  }

  #active(): KeyRun[] {
    return this.#names.flatMap((name) => this.#opened.get(name) ?? [])
  }

  async #made(itemsMax: number, fill: (writer: KeyRunWriter) => Promise<void>): Promise<string> {
    const name = `${String(this.#next).padStart(10, '0')}.keys`
    this.#next += 1
    const writer = await KeyRunWriter.create(this.#drive, `${this.#directory}/${name}`, itemsMax)
    try {
      await fill(writer)
    } catch (error) {
      await this.#abandon(writer, toCairnError(error))
    }
    if (writer.items === 0) await writer.abandon()
    else {
      await writer.finish()
      await this.adopt(name)
    }
    return name
  }

  async #abandon(writer: KeyRunWriter, error: CairnError): Promise<never> {
    try {
      await writer.abandon()
    } catch {
      // The next start removes it; what went wrong first is what counts.
    }
    throw error
  }

  /** A run whose time is over or mostly so, else as many of one size as make a larger one. */
  #mergeable(nowMs: number): string[] {
    const hour = nowMs / HOUR_MS
    const sizes = new Map<number, string[]>()
    for (const name of this.#names) {
      const run = this.#opened.get(name)
      if (run === undefined) continue
      if ((run.firstHour + run.lastHour) / 2 <= hour) return [name]
      const level = Math.max(0, Math.floor(Math.log(run.items / SMALLEST_ITEMS) / Math.log(MERGE_RUNS)))
      const alike = sizes.get(level) ?? []
      alike.push(name)
      if (alike.length === MERGE_RUNS) return alike
      sizes.set(level, alike)
    }
    return []
  }
}

interface MergeCursor {
  readonly batches: AsyncGenerator<readonly KeyItem[]>
  items: readonly KeyItem[]
  at: number
}

/** In order; of a key that is in several runs the longest time counts. */
async function* mergedItems(runs: readonly KeyRun[]): AsyncGenerator<KeyItem> {
  const cursors: MergeCursor[] = []
  for (const run of runs) {
    const cursor: MergeCursor = { batches: run.batches(), items: [], at: 0 }
    if (await advance(cursor)) cursors.push(cursor)
  }
  let last: KeyItem | undefined
  while (cursors.length > 0) {
    let lowest = 0
    for (let at = 1; at < cursors.length; at += 1) {
      if (compareBytes(hashAt(cursors, at), hashAt(cursors, lowest)) < 0) lowest = at
    }
    const cursor = cursors[lowest]
    const item = cursor?.items[cursor.at]
    if (cursor === undefined || item === undefined) return
    if (last !== undefined && compareBytes(last.hash, item.hash) === 0) {
      if (item.hour > last.hour) last = item
    } else {
      if (last !== undefined) yield last
      last = item
    }
    cursor.at += 1
    if (cursor.at === cursor.items.length && !(await advance(cursor))) cursors.splice(lowest, 1)
  }
  if (last !== undefined) yield last
}

function hashAt(cursors: readonly MergeCursor[], index: number): Uint8Array {
  const cursor = cursors[index]
  return cursor?.items[cursor.at]?.hash ?? NONE
}

const NONE = new Uint8Array(0)

async function advance(cursor: MergeCursor): Promise<boolean> {
  const next = await cursor.batches.next()
  if (next.done === true) return false
  cursor.items = next.value
  cursor.at = 0
  return true
}
