import { bitRot, failingDrive, fullDrive, slowDrive } from './drive.ts'
import type { Fault, FaultKind } from './fault.ts'
import { badWeather, cutOff, cutOneWay, cutPair } from './network.ts'
import { clockJump, reload } from './operator.ts'
import { blackout, kill, powerCut, restart, stall } from './power.ts'

export const FAULTS: Readonly<Record<FaultKind, Fault>> = {
  'power-cut': powerCut,
  blackout,
  kill,
  restart,
  stall,
  'io-error': failingDrive('io-error'),
  'no-space': failingDrive('no-space'),
  'full-drive': fullDrive,
  'short-write': failingDrive('short-write'),
  'torn-write': failingDrive('torn-write'),
  'slow-drive': slowDrive,
  'bit-rot': bitRot,
  'cut-off': cutOff,
  'cut-pair': cutPair,
  'cut-one-way': cutOneWay,
  loss: badWeather('loss'),
  delay: badWeather('delay'),
  duplication: badWeather('duplication'),
  reorder: badWeather('reorder'),
  'clock-jump': clockJump,
  reload,
}
