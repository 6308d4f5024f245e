/**
 * The phases of a service's end, and who is still working.
 *
 *     running ──drain──▶ draining ──deadline, or a second signal──▶ aborting ──▶ stopped
 *                           └──────────── every task ended ─────────────────────▶
 *
 * Phases only move forward. They are a level, not an edge: a late look sees where things stand.
 *
 * In a node several services stop together, from the outside in. A service in front that still drains is a dependent of
 * those behind it: they refuse everything else, and serve it until it is done.
 */

export type Phase = 'running' | 'draining' | 'aborting' | 'stopped'

export interface ShutdownCore {
  phase: Phase
  readonly tasks: Set<string>
  /** Services in front of this one that still drain. */
  readonly dependents: Set<string>
  /** Tasks that had work in hand when the drain deadline, or a second signal, came. */
  aborted: string[]
  /** Tasks that ignored even the abort. */
  abandoned: string[]
}

export function createShutdown(): ShutdownCore {
  return { phase: 'running', tasks: new Set(), dependents: new Set(), aborted: [], abandoned: [] }
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

/** A service in front begins to drain together with this one; too late once this one no longer serves. */
export function dependentStarted(shutdown: ShutdownCore, name: string): void {
  if (shutdown.phase === 'running' || shutdown.phase === 'draining') shutdown.dependents.add(name)
}

/** No work of it is left that could need this service. */
export function dependentDone(shutdown: ShutdownCore, name: string): void {
  shutdown.dependents.delete(name)
}

/** Whether new work is taken: from every caller while running, then only from a service in front that still drains. */
export function takesWork(shutdown: ShutdownCore, from: 'outside' | 'dependent'): boolean {
  if (shutdown.phase === 'running') return true
  return shutdown.phase === 'draining' && from === 'dependent' && shutdown.dependents.size > 0
}

/** Nothing new can come any more: what is open now is the last of it. */
export function isClosedToWork(shutdown: ShutdownCore): boolean {
  return !takesWork(shutdown, 'dependent')
}

/** Take no new work, finish what was accepted. */
export function drain(shutdown: ShutdownCore): void {
  if (shutdown.phase !== 'running') return
  shutdown.phase = 'draining'
  stopIfIdle(shutdown)
}

/**
 * Stop now: the deadline passed, or a second signal came. Only tasks that `isBusy` are aborted in the middle of something;
 * an idle worker merely ends.
 */
export function abort(shutdown: ShutdownCore, isBusy: (task: string) => boolean): void {
  if (shutdown.phase !== 'running' && shutdown.phase !== 'draining') return
  shutdown.phase = 'aborting'
  shutdown.aborted = [...shutdown.tasks].filter(isBusy)
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
