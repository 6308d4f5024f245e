/**
 * Sees compaction from outside: by the files it makes, and by what the node logs when it is done.
 *
 *     N.compact appears ─ copying ─▶ N.seg ─ switching ─▶ "segment compacted"
 */
import { type FSWatcher, watch } from 'node:fs'
import { readdir } from 'node:fs/promises'
import type { MaintenanceWatch } from './campaign.ts'
import type { NodeLife } from './node-life.ts'

export class CompactionWatch implements MaintenanceWatch {
  onBegin: () => void = () => undefined
  readonly #life: NodeLife
  readonly #journal: string
  readonly #watcher: FSWatcher
  readonly #drafts = new Set<string>()

  constructor(life: NodeLife, journal: string) {
    this.#life = life
    this.#journal = journal
    this.#watcher = watch(journal, (_event, name) => {
      if (name?.endsWith('.compact') !== true || this.#drafts.has(name)) return
      this.#drafts.add(name)
      this.onBegin()
    })
  }

  async ended(): Promise<{ readonly underWay: readonly string[]; readonly finished: number }> {
    const done = this.#life.logged('segment compacted')
    // One that copies nothing makes no file.
    const copies = done.filter((line) => line['copiedBytes'] !== 0).length
    const isCopying = (await readdir(this.#journal)).some((name) => name.endsWith('.compact'))
    const phase = isCopying ? 'copying' : 'switching'
    const underWay = isCopying || this.#drafts.size > copies ? ['compaction', `compaction, ${phase}`] : []
    return { underWay, finished: done.length }
  }

  [Symbol.dispose](): void {
    this.#watcher.close()
  }
}
