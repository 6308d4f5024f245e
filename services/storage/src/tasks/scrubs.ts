/** The scrubs of all drives, as one. */
import type { TaskBody } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'
import type { Address } from '@cairn/wire'
import type { RepairQueue } from '../repair/repair-queue.ts'
import type { ScrubStatus } from '../repair/scrub-progress.ts'
import type { LocalDrive } from '../targets/local-drive.ts'
import { Scrubber, scrubPace } from './scrubber.ts'

export class Scrubs {
  readonly #byDrive: ReadonlyMap<LocalDrive, Scrubber>

  constructor(platform: Platform, drives: readonly LocalDrive[], repairs: RepairQueue, bytesPerSecond: number) {
    const pace = scrubPace(platform, bytesPerSecond)
    this.#byDrive = new Map(drives.map((drive) => [drive, new Scrubber(platform, drive, repairs, pace)]))
  }

  /** A round begins on every drive that has none under way. */
  begin(): void {
    for (const scrubber of this.#byDrive.values()) scrubber.begin()
  }

  proves(drive: LocalDrive, id: Address, lsn: number): boolean {
    return this.#byDrive.get(drive)?.proves(id, lsn) ?? false
  }

  healed(drive: LocalDrive, chunk: Address): void {
    this.#byDrive.get(drive)?.healed(chunk)
  }

  /** Every drive on its own, each going on where it was. */
  readonly run: TaskBody = async (context) => {
    await Promise.all([...this.#byDrive.values()].map(async (scrubber) => await scrubber.run(context)))
  }

  /** With one drive, copies that were read and proved in the last whole round; nothing before there was one. */
  observedCopies(): number | undefined {
    const [only] = this.#byDrive.values()
    return only?.observedCopies()
  }

  reports(): Map<string, ScrubStatus> {
    return new Map([...this.#byDrive].map(([drive, scrubber]) => [drive.id, scrubber.report()]))
  }

  /** Of all drives together. A round has ended once it has on every drive. */
  report(): ScrubStatus {
    const reports = [...this.reports().values()]
    const [only] = reports
    if (only !== undefined && reports.length === 1) return only
    const sum = (of: (report: ScrubStatus) => number): number => reports.reduce((total, each) => total + of(each), 0)
    const ends = reports.map(({ completed_at: at }) => at)
    const isWhole = reports.every(({ objects }) => objects !== null)
    const objects = {
      sound: sum((each) => each.objects?.sound ?? 0),
      damaged: sum((each) => each.objects?.damaged ?? 0),
    }
    const completedAt = ends.includes(null) ? null : Math.min(...ends.map((at) => at ?? 0))
    return {
      state: reports.some(({ state }) => state === 'reading') ? 'reading' : 'waiting',
      cursor: null,
      total_bytes: sum((each) => each.total_bytes),
      read: sum(({ read }) => read),
      records: sum(({ records }) => records),
      bytes: sum(({ bytes }) => bytes),
      damaged: reports.flatMap(({ damaged }) => damaged),
      damaged_count: sum((each) => each.damaged_count),
      damaged_records: sum((each) => each.damaged_records),
      damaged_bytes: sum((each) => each.damaged_bytes),
      missing: sum(({ missing }) => missing),
      mended: sum(({ mended }) => mended),
      not_read: reports.flatMap((each) => each.not_read),
      objects: isWhole ? objects : null,
      coverage: sum(({ coverage }) => coverage) / Math.max(1, reports.length),
      completed_at: completedAt,
      age_ms: completedAt === null ? null : Math.max(...reports.map((each) => each.age_ms ?? 0)),
    }
  }
}
