/**
 * The two queues into the Committer, and the bell that says one of them is not empty.
 *
 *     propose, commit, audit head ─▶ proposals ─┐
 *                                               ├─▶ a batch for the Committer
 *     approve ─────────────────────▶ approvals ─┘
 *
 * Nobody waits for room: a full queue is `Busy` at once.
 */
import {
  type Deadline,
  type Job,
  openQueue,
  type Queue,
  type Runtime,
  submit,
  type WaitOptions,
  Watch,
} from '@cairn/kernel'
import type { Command, CommandAnswer } from './domain/commands.ts'
import { REGISTRY_TOPOLOGY } from './topology.ts'

export type CommandJob = Job<Command, CommandAnswer>

/** What bounds a command: a request's context has both. */
export interface CommandBounds {
  readonly deadline: Deadline
  readonly signal?: AbortSignal | undefined
}

/** What is decided together. More would keep the first of them waiting, and the event loop busy. */
const BATCH_MAX = 128

export class CommandIntake {
  readonly #proposals: Queue<CommandJob>
  readonly #approvals: Queue<CommandJob>
  readonly #bell = new Watch(0)

  constructor(runtime: Runtime) {
    const onLost = (job: CommandJob): void => job.cancel()
    this.#proposals = openQueue(runtime, REGISTRY_TOPOLOGY, 'proposals', onLost)
    this.#approvals = openQueue(runtime, REGISTRY_TOPOLOGY, 'approvals', onLost)
  }

  /** Puts the command in line and waits for its end. */
  async ask(command: Command, bounds: CommandBounds): Promise<CommandAnswer> {
    const queue = command.tag === 'approve' ? this.#approvals : this.#proposals
    const answer = submit(queue, command, bounds)
    this.#ring()
    return await answer
  }

  /** The next batch, waiting for it if need be; nothing once both queues are closed and empty. */
  async next(options: WaitOptions): Promise<readonly CommandJob[] | undefined> {
    for (;;) {
      const seen = this.#bell.version
      const batch = this.#take()
      if (batch === undefined || batch.length > 0) return batch
      await this.#bell.changed(seen, options)
    }
  }

  /** No more commands; what is inside is still served. */
  close(): void {
    this.#proposals.close()
    this.#approvals.close()
    this.#ring()
  }

  /** No more commands; what is inside is answered that it will not be done. */
  abort(): number {
    const lost = this.#proposals.abort() + this.#approvals.abort()
    this.#ring()
    return lost
  }

  /** From both queues in turn, so that neither waits for the other. */
  #take(): CommandJob[] | undefined {
    const batch: CommandJob[] = []
    let closed = 0
    for (let idle = 0, turn = 0; batch.length < BATCH_MAX && idle < 2; turn += 1) {
      const received = (turn % 2 === 0 ? this.#approvals : this.#proposals).tryReceive()
      if (received?.tag === 'item') {
        batch.push(received.item)
        idle = 0
        continue
      }
      if (received?.tag === 'closed') closed += 1
      idle += 1
    }
    return batch.length === 0 && closed >= 2 ? undefined : batch
  }

  #ring(): void {
    this.#bell.set(this.#bell.value + 1)
  }
}
