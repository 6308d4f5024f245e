import { availableParallelism } from 'node:os'
import type { Runtime } from '@cairn/kernel'
import type { Transport } from '@cairn/transport'
import { systemCrypto } from './crypto.ts'
import { MemoryDisk } from './disk/memory-disk.ts'
import { RealDisk } from './disk/real-disk.ts'
import type { Lookup } from './egress/checked-connector.ts'
import type { Platform } from './platform.ts'
import { RealProcess } from './process/process.ts'
import { ChildThread, RealThread } from './workers/threads.ts'
import { WorkerPool, type Workers } from './workers/worker-pool.ts'

/** What the services of one process share. Its creator closes it, after everything that uses it. */
export interface SharedResources {
  readonly workers: Workers
  /** Defaults to threads, which serve where no files of strangers are read. */
  readonly isolated?: Workers
  readonly transport: Transport
  readonly lookup: Lookup
  /** Set for amnesia: each service's files live in this much memory, and no file is opened for writing. */
  readonly memoryBytes?: number | undefined
}

/** Jobs that may wait for a worker thread; at 10 ms each about a second and a quarter of work for one thread. */
const WORKER_QUEUE_CAPACITY = 128

/** Threads for work that would hold up the event loop: all cores but the one it runs on. */
export function openWorkers(runtime: Runtime): WorkerPool {
  return new WorkerPool(runtime, {
    name: 'workers',
    threads: Math.max(1, availableParallelism() - 1),
    queueCapacity: WORKER_QUEUE_CAPACITY,
    makeThread: () => new RealThread(),
  })
}

/** One process for native code over files of strangers; made when the first job comes. */
export function openIsolated(runtime: Runtime): WorkerPool {
  return new WorkerPool(runtime, {
    name: 'isolated',
    threads: 1,
    queueCapacity: WORKER_QUEUE_CAPACITY,
    makeThread: () => new ChildThread(),
  })
}

/** This machine, as one service sees it: files and timers are its own, threads and connections are shared. */
export function createPlatform(runtime: Runtime, shared: SharedResources): Platform {
  const { workers, isolated = workers, transport, lookup, memoryBytes } = shared
  return {
    ...runtime,
    ...disksOf(runtime, memoryBytes),
    workers,
    isolated,
    crypto: systemCrypto,
    process: new RealProcess(),
    transport,
    lookup,
  }
}

function disksOf(runtime: Runtime, memoryBytes: number | undefined): Pick<Platform, 'disk' | 'operatorDisk'> {
  const drive = new RealDisk(runtime)
  if (memoryBytes === undefined) return { disk: drive }
  return { disk: new MemoryDisk(runtime, memoryBytes), operatorDisk: drive }
}
