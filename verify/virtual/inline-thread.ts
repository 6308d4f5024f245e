import { canceled, sleep } from '@cairn/kernel'
import { openReply, runTask, type Thread, type ThreadRequest } from '@cairn/platform/testing'
import type { Life } from './life.ts'
import type { Outside } from './outside.ts'

/** A worker "thread" in the one real thread: waits as long as the work would take, then does it at once. */
export class InlineThread implements Thread {
  readonly #life: Life
  readonly #outside: Outside
  readonly #usualMs: number
  #usable = true

  constructor(life: Life, outside: Outside, usualMs: number) {
    this.#life = life
    this.#outside = outside
    this.#usualMs = usualMs
  }

  get usable(): boolean {
    return this.#usable
  }

  async run({ module, name, input, transfer }: ThreadRequest, signal: AbortSignal): Promise<unknown> {
    const given = structuredClone(input, { transfer: [...transfer] })
    try {
      await this.#life.call({ name: 'workers.run', detail: name, latencyMs: 0, end: () => undefined })
      await sleep(this.#life.clock, this.#life.latency(this.#usualMs), { signal })
    } catch (error) {
      this.#usable = false
      throw signal.aborted ? canceled(signal) : error
    }
    const reply = await this.#outside.wait(runTask(module, name, given))
    this.#life.note(`workers.run ${name} ${reply.tag}`)
    return structuredClone(openReply(reply))
  }

  async stop(): Promise<void> {
    this.#usable = false
    await Promise.resolve()
  }
}
