/**
 * Watches a journal's files from below, and knows whether its store may take writes.
 *
 *     proven ── a write, a sync or the making of a log segment fails ──▶ broken: that file is never written to again
 *       ▲                                                                   │
 *       └── a new segment: created, written, synced, its name synced, read back ──┘
 */
import type { Disk, DiskFile } from '@cairn/platform'
import { wrapDisk, wrapFile } from '../virtual/disk/wrapped-disk.ts'

const LOG_SEGMENT = /\.seg$/

/** How far a new segment has come. */
const PROOF = ['open', 'append', 'sync', 'syncDirectory', 'read'] as const
type Step = (typeof PROOF)[number]

export class SegmentWitness {
  readonly #failed = new Set<string>()
  /** The segment that is being made, and the step that must come next. */
  #candidate: { readonly path: string; next: number } | undefined
  #isBroken = false

  /** No segment has proved itself since one failed. */
  get isBroken(): boolean {
    return this.#isBroken
  }

  /** The disk, watched. */
  watch(disk: Disk): Disk {
    return wrapDisk(disk, {
      open: async (path, options) => {
        if (options.mode === 'read' || !LOG_SEGMENT.test(path)) return await disk.open(path, options)
        if (options.mode === 'create') this.#candidate = { path, next: 0 }
        const file = await this.#step('open', path, async () => await disk.open(path, options))
        return this.#watchFile(file)
      },
      syncDirectory: async (path) => {
        const candidate = this.#candidate?.path ?? ''
        await this.#step('syncDirectory', candidate, async () => await disk.syncDirectory(path))
      },
    })
  }

  #watchFile(file: DiskFile): DiskFile {
    const { path } = file
    const write = async <T>(step: 'append' | 'sync', make: () => Promise<T>): Promise<T> => {
      if (this.#failed.has(path)) throw new TypeError(`${path} failed, and there is another ${step} of it.`)
      return await this.#step(step, path, make)
    }
    return wrapFile(file, {
      append: async (buffers) => await write('append', async () => await file.append(buffers)),
      sync: async () => await write('sync', async () => await file.sync()),
      read: async (at, into) => await this.#step('read', path, async () => await file.read(at, into)),
    })
  }

  async #step<T>(step: Step, path: string, make: () => Promise<T>): Promise<T> {
    try {
      const value = await make()
      this.#advance(step, path)
      return value
    } catch (error) {
      const isWrite = step === 'append' || step === 'sync'
      if (isWrite) this.#failed.add(path)
      if (isWrite || this.#candidate?.path === path) this.#isBroken = true
      if (this.#candidate?.path === path) this.#candidate = undefined
      throw error
    }
  }

  #advance(step: Step, path: string): void {
    const candidate = this.#candidate
    if (candidate?.path !== path || PROOF[candidate.next] !== step) return
    candidate.next += 1
    if (candidate.next < PROOF.length) return
    this.#candidate = undefined
    this.#isBroken = false
  }
}
