/**
 * A computer in the simulated world: a drive that outlives it, and one life at a time.
 *
 *     start ──▶ a life: its platform ──┬─ crash: the power goes; unsynced writes are kept, lost or torn
 *       ▲                              └─ kill: the process goes; everything written stays
 *       └──────────────────────────────┘
 */
import { KERNEL_METRICS, LiveTopology, MemoryLog, MemoryMetrics, type MetricTable, type Random } from '@cairn/kernel'
import { leaks, SeededRandom } from '@cairn/kernel/testing'
import type { Platform } from '@cairn/platform'
import { WorkerPool } from '@cairn/platform/testing'
import { Drive, type DriveOptions } from './disk/drive.ts'
import { type Mount, VirtualDisk } from './disk/virtual-disk.ts'
import { Faults } from './faults.ts'
import { InlineThread } from './inline-thread.ts'
import { Life } from './life.ts'
import type { MachineClock } from './machine-clock.ts'
import type { VirtualListener } from './network/message.ts'
import { VirtualProcess } from './virtual-process.ts'
import type { VirtualWorld } from './world.ts'

/** What the code under test is given, and what a scenario may see of it. */
export interface VirtualPlatform extends Platform {
  readonly clock: MachineClock
  readonly log: MemoryLog
  readonly metrics: MemoryMetrics
  readonly process: VirtualProcess
  /** Answers requests to this port of the machine until the returned function is called. */
  listen(port: number, listener: VirtualListener): () => void
  /** For one of several services of this process: the same machine with a log, metrics and topology of its own. */
  part(metrics: MetricTable): VirtualPlatform
}

export interface StartOptions {
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** The metrics the code declares; the kernel's, if absent. */
  readonly metrics?: MetricTable
  /** How far its wall clock is off. */
  readonly wallSkewMs?: number
}

/** What the parts of a process have in common. */
type SharedParts = Pick<VirtualPlatform, 'workers' | 'process'>
type VirtualRuntime = Pick<VirtualPlatform, 'clock' | 'random' | 'log' | 'metrics' | 'topology'>

/** Threads and queue of the inline workers, and what a task usually takes. */
const WORKER_THREADS = 2
const WORKER_QUEUE_CAPACITY = 128
const WORKER_TASK_MS = 5

export class VirtualMachine {
  readonly name: string
  readonly drive: Drive
  readonly faults = new Faults()
  readonly #world: VirtualWorld
  #life: Life | undefined
  /** Of the life that runs, or ran last: the one it was started with, and its parts. */
  #platforms: VirtualPlatform[] = []
  #exitCode: number | undefined
  #lives = 0

  constructor(world: VirtualWorld, name: string, drive: DriveOptions) {
    this.#world = world
    this.name = name
    this.drive = new Drive(drive)
  }

  get isUp(): boolean {
    return this.#life?.alive === true
  }

  /** Calls `hear` when the life that runs is over; at once if the last one is. */
  onceDown(hear: () => void): void {
    this.#life?.onceOver(hear)
  }

  /** Removes what stores keep of their indexes beside their segments, which no code may mind. Between two lives. */
  loseSideFiles(): void {
    for (const path of this.drive.files()) if (path.endsWith('.idx')) this.drive.unlink(path)
  }

  /** Flips a bit somewhere in each of them. */
  damageSideFiles(random: Random): void {
    for (const path of this.drive.files().filter((each) => each.endsWith('.idx'))) {
      const bits = 8 * this.drive.size(path)
      if (bits > 0) this.drive.damage(path, Math.floor(random.next() * bits))
    }
  }

  /** How the last process ended on its own, if it did. */
  get exitCode(): number | undefined {
    return this.#exitCode
  }

  /** How many there have been, this one included. */
  get lives(): number {
    return this.#lives
  }

  /** Calls the life that runs, or ran last, made to its platform. */
  get calls(): number {
    return this.#life?.calls ?? 0
  }

  /** Begins a life on what the last one left. */
  start({ environment = {}, metrics = KERNEL_METRICS, wallSkewMs = 0 }: StartOptions = {}): VirtualPlatform {
    if (this.isUp) throw new Error(`${this.name} already runs.`)
    const { clock, trace, network, outside } = this.#world
    this.#lives += 1
    this.#exitCode = undefined
    const seed = this.#world.nextSeed()
    const life = new Life({
      machine: this.name,
      clock,
      trace,
      seed,
      skewMs: wallSkewMs,
    })
    life.note(`starts life ${this.#lives}`)
    this.#life = life
    network.join(life)
    this.#platforms = []
    const runtime = this.#runtime(life, metrics)
    const workers = new WorkerPool(runtime, {
      name: 'workers',
      threads: WORKER_THREADS,
      queueCapacity: WORKER_QUEUE_CAPACITY,
      makeThread: () => new InlineThread(life, outside, WORKER_TASK_MS),
    })
    const process = new VirtualProcess(1000 + this.#lives, environment, (code) => this.#exit(code))
    return this.#platform(life, runtime, { workers, process })
  }

  /** The power goes when the n-th platform call from now, or the n-th of this name, has begun; `hear` is told just before. */
  crashAfter(calls: number, hear?: () => void, of?: string): void {
    const end = (): void => {
      hear?.()
      this.crash()
    }
    this.#life?.endAfter(calls, end, of)
  }

  /** The process goes when the n-th platform call from now has begun. */
  killAfter(calls: number): void {
    this.#life?.endAfter(calls, () => this.kill())
  }

  /** The power goes. */
  crash(): void {
    this.#die((life) => `loses power: ${this.drive.crash(life.chance)}`)
  }

  /** The process goes and the machine stays up: what was written is still in its memory. */
  kill(): void {
    this.#die(() => {
      this.drive.processEnded()
      return 'is killed'
    })
  }

  /** The machine stands still for so long: nothing runs, nothing that is sent to it arrives. */
  stall(forMs: number): void {
    this.#life?.note(`stands still for ${forMs} ms`)
    this.#life?.clock.stall(forMs)
    this.#world.network.links.stall(this.name, forMs)
  }

  /** Its wall clock is wrong from now on, by so much more. */
  jumpWall(byMs: number): void {
    this.#life?.note(`has a clock that jumps by ${byMs} ms`)
    this.#life?.clock.jumpWall(byMs)
  }

  /** Tasks, timers and files the running life still has; a scenario ends with none. */
  leaks(): string[] {
    if (!this.isUp) return []
    const held = new Set(this.#platforms.flatMap((platform) => leaks(platform)))
    return [...held].map((leak) => `${this.name}: ${leak}`)
  }

  #runtime(life: Life, metrics: MetricTable): VirtualRuntime {
    const log = new MemoryLog()
    return {
      clock: life.clock,
      random: new SeededRandom(this.#world.nextSeed()),
      log,
      metrics: new MemoryMetrics(metrics),
      topology: new LiveTopology((resource) => log.debug({ resource }, 'dropped without close')),
    }
  }

  #platform(life: Life, runtime: VirtualRuntime, shared: SharedParts): VirtualPlatform {
    const { network, crypto } = this.#world
    const mount: Mount = { life, drive: this.drive, faults: this.faults, runtime }
    const platform: VirtualPlatform = {
      ...runtime,
      ...shared,
      isolated: shared.workers,
      disk: new VirtualDisk(mount),
      transport: network.transport(life),
      lookup: network.lookup(life),
      crypto,
      listen: (port, listener) => network.listen(life, port, listener),
      part: (metrics) => this.#platform(life, this.#runtime(life, metrics), shared),
    }
    this.#platforms.push(platform)
    return platform
  }

  #exit(code: number): void {
    this.#exitCode = code
    this.kill()
  }

  #die(fate: (life: Life) => string): void {
    const life = this.#life
    if (life?.alive !== true) return
    const happened = fate(life)
    life.note(happened)
    life.end()
  }
}
