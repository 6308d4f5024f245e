/**
 * The phases of a service's end, and who is still working.
 *
 *     running ──drain──▶ draining ──deadline, or a second signal──▶ aborting ──▶ stopped
 *                           └──────────── every task ended ─────────────────────▶
 *
 * Phases only move forward. They are a level, not an edge: whoever looks late sees where things stand.
 */

export type Phase = 'running' | 'draining' | 'aborting' | 'stopped'

export interface ShutdownCore {
  phase: Phase
  readonly tasks: Set<string>
  /** Tasks that were aborted because the drain deadline came first. */
  aborted: string[]
  /** Tasks that ignored even the abort. */
  abandoned: string[]
}

export function createShutdown(): ShutdownCore {
  return { phase: 'running', tasks: new Set(), aborted: [], abandoned: [] }
}

/** Takes a task in; false once the service drains, because work that starts now could be stranded. */
export function taskStarted(shutdown: ShutdownCore, task: string): boolean {
  if (shutdown.phase !== 'running') return false
  shutdown.tasks.add(task)
  return true
}

export function taskEnded(shutdown: ShutdownCore, task: string): void {
  shutdown.tasks.delete(task)
  stopIfIdle(shutdown)
}

/** Take no new work, finish what was accepted. */
export function drain(shutdown: ShutdownCore): void {
  if (shutdown.phase !== 'running') return
  shutdown.phase = 'draining'
  stopIfIdle(shutdown)
}

/** Stop now: the deadline passed or somebody insisted. */
export function abort(shutdown: ShutdownCore): void {
  if (shutdown.phase !== 'running' && shutdown.phase !== 'draining') return
  shutdown.phase = 'aborting'
  shutdown.aborted = [...shutdown.tasks]
  stopIfIdle(shutdown)
}

/** Wait no longer: what still runs is named and left behind. */
export function abandon(shutdown: ShutdownCore): void {
  if (shutdown.phase !== 'aborting') return
  shutdown.abandoned = [...shutdown.tasks]
  shutdown.tasks.clear()
  shutdown.phase = 'stopped'
}

function stopIfIdle(shutdown: ShutdownCore): void {
  if (shutdown.phase !== 'running' && shutdown.tasks.size === 0) shutdown.phase = 'stopped'
}
