import type { Runtime } from '@cairn/kernel'
import type { Crypto, Disk } from '@cairn/platform'

/** What a journal needs of the machine; a `Platform` has it. */
export interface JournalMachine extends Runtime {
  readonly disk: Disk
  readonly crypto: Pick<Crypto, 'crc32'>
}

/** What a store with an index needs of the machine; a `Platform` has it. */
export type StoreMachine = JournalMachine
