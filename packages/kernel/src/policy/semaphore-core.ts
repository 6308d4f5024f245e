/**
 * Permits and a fair line for them. A released permit goes to the first in line, never past it:
 * while a task waits, `tryAcquire` fails even if a permit is free for a moment.
 */
import { Waiters } from '../channel/waiters.ts'

export interface SemaphoreCore {
  readonly permits: number
  available: number
  readonly line: Waiters<undefined>
}

export function createSemaphore(permits: number): SemaphoreCore {
  if (!Number.isInteger(permits) || permits < 1) throw new RangeError('A semaphore has at least one permit.')
  return { permits, available: permits, line: new Waiters() }
}

export function tryAcquire(semaphore: SemaphoreCore): boolean {
  if (semaphore.available === 0 || semaphore.line.size > 0) return false
  semaphore.available -= 1
  return true
}

/** Gives the permit to the first in line, or puts it back. */
export function release(semaphore: SemaphoreCore): void {
  if (semaphore.line.wakeFirst(undefined)) return
  if (semaphore.available === semaphore.permits) throw new Error('No permit is taken; release each permit once.')
  semaphore.available += 1
}
