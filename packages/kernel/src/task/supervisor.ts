/**
 * Starts a service's tasks, restarts those that fail, and ends them all in order.
 *
 *     start ─▶ run ─┬─ returns ─────────────────▶ ended
 *               ▲   ├─ throws ── pause ─┐
 *               └───┼───────────────────┘
 *                   └─ throws too often ────────▶ fatal: the service says so and stops
 */
import { sleep } from '../clock.ts'
import { isKind } from '../errors.ts'
import type { Runtime } from '../runtime.ts'
import { Scope } from './scope.ts'
import { Shutdown } from './shutdown.ts'
import { decide, type Exit, NO_FAILURES, noteFailure } from './supervisor-core.ts'

export interface TaskContext {
  readonly name: string
  /** Take no new work, finish what is queued. */
  readonly draining: AbortSignal
  /** Stop now. */
  readonly aborting: AbortSignal
  /**
   * For a task that waits for work until its queue is closed: how to tell whether it has some in hand. Asked when the
   * service aborts, because only work that was broken off counts as aborted; a task that does not say always counts.
   */
  readonly busyWhen?: (isBusy: () => boolean) => void
}

export type TaskBody = (context: TaskContext) => Promise<void>

export interface SupervisorOptions {
  /** How long accepted work may take to finish once shutdown begins. */
  readonly drainDeadlineMs: number
  /** A task ended with an uncaught error. */
  readonly onCrash?: (task: string) => void
  /** A task failed too often; the service is going down because of it. */
  readonly onFatal?: (task: string, error: unknown) => void
}

export interface StopReport {
  /** Had work in hand that was broken off at the drain deadline. */
  readonly aborted: readonly string[]
  /** Ignored the abort; named, and no longer awaited. */
  readonly abandoned: readonly string[]
}

/** How long a task may take to notice that it was aborted. */
const ABORT_GRACE_MS = 1_000

export class Supervisor {
  readonly shutdown = new Shutdown()
  readonly #runtime: Runtime
  readonly #options: SupervisorOptions
  readonly #scope: Scope
  #stopping: Promise<StopReport> | undefined

  constructor(runtime: Runtime, options: SupervisorOptions) {
    this.#runtime = runtime
    this.#options = options
    this.#scope = new Scope(runtime, 'supervisor')
  }

  /** Starts a task that lives as long as the service. `copies` of a pool are named `name-1`, `name-2` … */
  start(name: string, body: TaskBody, copies = 1): void {
    for (let copy = 1; copy <= copies; copy += 1) {
      const task = copies === 1 ? name : `${name}-${copy}`
      if (!this.shutdown.taskStarted(task)) return
      this.#scope.spawn(task, () => this.#supervise(task, name, body))
    }
  }

  /**
   * Drains, aborts what the deadline catches, and returns once every task has ended or been named. The first call decides
   * how long the drain may take: `drainDeadlineMs` where that is later than the service's own.
   */
  async stop(drainDeadlineMs = 0): Promise<StopReport> {
    this.#stopping ??= this.#stop(Math.max(drainDeadlineMs, this.#options.drainDeadlineMs))
    return await this.#stopping
  }

  /** The second signal: ends at once. */
  abort(): void {
    this.shutdown.abort()
  }

  async #supervise(task: string, kind: string, body: TaskBody): Promise<void> {
    let history = NO_FAILURES
    const facts = (): { failures: number } => ({ failures: history.failures.length })
    const unlist = this.#runtime.topology.add({ kind: 'task', name: task, facts })
    try {
      for (;;) {
        const { exit, error } = await this.#runOnce(task, kind, body)
        if (exit === 'failed') history = noteFailure(history, this.#runtime.clock.now())
        const running = this.shutdown.phase.value === 'running'
        const decision = decide(history, exit, running, this.#runtime.random)
        if (decision.tag === 'fatal') this.#fatal(task, error)
        if (decision.tag !== 'restart') return
        await sleep(this.#runtime.clock, decision.afterMs, { signal: this.shutdown.draining })
        // The drain may have begun between the end of the pause and now.
        if (this.shutdown.draining.aborted) return
        this.#runtime.metrics.count('service_restarts_total', { kind })
      }
    } catch (error) {
      // Only the pause before a restart can throw here: the service drains, so there is no restart.
      if (!isKind(error, 'Canceled')) throw error
    } finally {
      unlist()
      this.shutdown.taskEnded(task)
    }
  }

  async #runOnce(task: string, kind: string, body: TaskBody): Promise<{ exit: Exit; error?: unknown }> {
    const { metrics, log } = this.#runtime
    const { draining, aborting } = this.shutdown
    metrics.count('tasks_spawned_total', { kind })
    try {
      await body({ name: task, draining, aborting, busyWhen: (isBusy) => this.shutdown.busyWhen(task, isBusy) })
      return { exit: 'finished' }
    } catch (error) {
      if (draining.aborted && isKind(error, 'Canceled')) {
        metrics.count('tasks_canceled_total', { kind })
        return { exit: 'canceled' }
      }
      metrics.count('tasks_panicked_total', { kind })
      log.error({ task, error }, 'task failed')
      this.#options.onCrash?.(task)
      return { exit: 'failed', error }
    }
  }

  #fatal(task: string, error: unknown): void {
    this.#runtime.log.error({ task, error }, 'task failed too often; the service stops')
    this.#options.onFatal?.(task, error)
    this.#stopping ??= this.#stop(this.#options.drainDeadlineMs)
  }

  async #stop(drainDeadlineMs: number): Promise<StopReport> {
    const { clock, log, metrics } = this.#runtime
    const { shutdown } = this
    shutdown.drain()
    const deadline = clock.timer(drainDeadlineMs, () => shutdown.abort())
    await shutdown.phase.until((phase) => phase !== 'draining')
    deadline.cancel()
    const grace = clock.timer(ABORT_GRACE_MS, () => shutdown.abandon())
    await shutdown.phase.until((phase) => phase === 'stopped')
    grace.cancel()
    const { aborted, abandoned } = shutdown
    for (const task of aborted) metrics.count('tasks_aborted_total', { kind: kindOf(task) })
    for (const task of abandoned) metrics.count('tasks_abandoned_total', { kind: kindOf(task) })
    if (abandoned.length > 0) log.error({ tasks: abandoned }, 'tasks ignored abort and were left behind')
    else await this.#scope.join()
    return { aborted, abandoned }
  }
}

/** `get-worker-3` counts as `get-worker`: labels have few values. */
function kindOf(task: string): string {
  return task.replace(/-\d+$/, '')
}
