import { lostJournal, rolledBack } from './directories.ts'
import { bitRot, failingDrive, fullDrive, slowDrive } from './drive.ts'
import type { Fault, FaultKind } from './fault.ts'
import { lostIndex, rottenIndex } from './files.ts'
import { filledDrive } from './filled-drive.ts'
import { cutOff, cutOneWay, cutPair, disturbNetwork } from './network.ts'
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
  'filled-drive': filledDrive,
  'short-write': failingDrive('short-write'),
  'torn-write': failingDrive('torn-write'),
  'slow-drive': slowDrive,
  'bit-rot': bitRot,
  'rotten-index': rottenIndex,
  'lost-index': lostIndex,
  'lost-journal': lostJournal,
  'rolled-back': rolledBack,
  'cut-off': cutOff,
  'cut-pair': cutPair,
  'cut-one-way': cutOneWay,
  loss: disturbNetwork('loss'),
  delay: disturbNetwork('delay'),
  duplication: disturbNetwork('duplication'),
  reorder: disturbNetwork('reorder'),
  'clock-jump': clockJump,
  reload,
}
