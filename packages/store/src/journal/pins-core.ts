/**
 * Who still reads a segment that is about to go.
 *
 *     open ── retire ──▶ retiring ── last pin gone ──▶ drained: the file may be unlinked
 *
 * A pin is taken in the same step as the place is looked up, so a reader either has the segment for as long as it
 * needs it, or finds the place it moved to.
 */
import { Waiters } from '@cairn/kernel'

export interface Pins {
  count: number
  isRetiring: boolean
  readonly drained: Waiters<undefined>
}

export function createPins(): Pins {
  return { count: 0, isRetiring: false, drained: new Waiters() }
}

/** Pins the segment; false once it is going: then the caller's place is out of date. */
export function pin(pins: Pins): boolean {
  if (pins.isRetiring) return false
  pins.count += 1
  return true
}

export function unpin(pins: Pins): void {
  pins.count -= 1
  if (pins.count === 0) pins.drained.wakeAll(undefined)
}

/** Admits no new pins; returns true if there is none left. */
export function retire(pins: Pins): boolean {
  pins.isRetiring = true
  return pins.count === 0
}

/** It could not be taken away after all. */
export function unretire(pins: Pins): void {
  pins.isRetiring = false
}
