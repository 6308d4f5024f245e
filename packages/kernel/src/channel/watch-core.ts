/**
 * The latest value and how often it was set.
 *
 *     set ──▶ (value, version) ──▶ read at any time
 *                    └──────────▶ wakes each waiter for a version above the one it has seen
 *
 * Level-triggered: a waiter says which version it has seen, so a value set before the wait began
 * counts. There is no edge to miss and nothing to consume.
 */
import { Waiters } from './waiters.ts'

export interface WatchCore<T> {
  value: T
  version: number
  readonly waiters: Waiters<undefined>
}

export function createWatch<T>(value: T): WatchCore<T> {
  return { value, version: 0, waiters: new Waiters() }
}

/** Replaces the value and wakes every waiter. */
export function setWatch<T>(watch: WatchCore<T>, value: T): void {
  watch.value = value
  watch.version += 1
  watch.waiters.wakeAll(undefined)
}

/** Whether something was set since `seen`. */
export function hasChanged<T>(watch: WatchCore<T>, seen: number): boolean {
  return watch.version > seen
}
