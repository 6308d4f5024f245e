/**
 * Whether the machine itself stood still: a small synced write, again and again, on the drive of the case. A node whose
 * drive or processor others use up cannot answer in time either, and that is no fault of the node.
 */
import { open } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'

const PAUSE_MS = 20

export class DriveProbe {
  #isOver = false
  #longestMs = 0
  readonly #ended: Promise<void>

  constructor(path: string) {
    this.#ended = this.#run(path)
  }

  async #run(path: string): Promise<void> {
    const file = await open(path, 'w')
    try {
      while (!this.#isOver) {
        const startedAt = performance.now()
        await file.write('a line that has to be on the drive\n', 0)
        await file.datasync()
        await wait(PAUSE_MS)
        this.#longestMs = Math.max(this.#longestMs, performance.now() - startedAt - PAUSE_MS)
      }
    } finally {
      await file.close()
    }
  }

  /** The longest that one write took, from its call to its answer. */
  async end(): Promise<number> {
    this.#isOver = true
    await this.#ended
    return this.#longestMs
  }
}
