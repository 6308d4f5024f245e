/**
 * Everything a service may ask of the machine. The real implementation lives beside this file; the
 * virtual one in `verify/virtual` loses power, tears writes, drops packets and is otherwise the same.
 * Service code takes everything from here, so a whole service runs in the simulator unchanged.
 */
import type { Runtime } from '@cairn/kernel'
import type { Transport } from '@cairn/transport'
import type { Crypto } from './crypto.ts'
import type { Disk } from './disk/disk.ts'
import type { Lookup } from './egress/checked-connector.ts'
import type { HostProcess } from './process/process.ts'
import type { Workers } from './workers/worker-pool.ts'

export interface Platform extends Runtime {
  readonly disk: Disk
  /** In amnesia, where `disk` is memory: the drive, for files that an operator names and that are only read. */
  readonly operatorDisk?: Disk
  readonly transport: Transport
  readonly workers: Workers
  /** Workers that native code can neither hang nor take the program down with: processes, a few, slower to reach. */
  readonly isolated: Workers
  readonly crypto: Crypto
  readonly lookup: Lookup
  readonly process: HostProcess
}
