/**
 * Everything a simulation consists of: one clock, one seed, one trace, a network and its machines.
 *
 * Time stands still while code runs and jumps to the next timer when nothing can go on, one timer at a
 * time, so a run depends on nothing but its seed.
 */
import { sleep } from '@cairn/kernel'
import { SeededRandom, VirtualClock } from '@cairn/kernel/testing'
import type { DriveOptions } from './disk/drive.ts'
import { VirtualMachine } from './machine.ts'
import { Links } from './network/links.ts'
import { VirtualNetwork } from './network/virtual-network.ts'
import { Outside } from './outside.ts'
import { rememberingCrypto } from './remembering-crypto.ts'
import { Trace } from './trace.ts'

/** A simulation that has not come to rest after this much virtual time never will. */
const VIRTUAL_MS_MAX = 24 * 3_600_000

export class VirtualWorld {
  readonly seed: number
  readonly clock = new VirtualClock()
  readonly trace = new Trace()
  readonly outside = new Outside()
  readonly crypto = rememberingCrypto()
  readonly network: VirtualNetwork
  /** The scenario's own dice. */
  readonly random: SeededRandom
  readonly #seeds: SeededRandom
  readonly #machines = new Map<string, VirtualMachine>()

  constructor(seed: number) {
    this.seed = seed
    this.#seeds = new SeededRandom(seed)
    this.random = new SeededRandom(this.nextSeed())
    this.network = new VirtualNetwork(new Links(this.clock, new SeededRandom(this.nextSeed()), this.trace))
  }

  /** The machine of this name, made on first use; its name is its host name. */
  machine(name: string, drive: DriveOptions = {}): VirtualMachine {
    const known = this.#machines.get(name)
    if (known !== undefined) return known
    const machine = new VirtualMachine(this, name, drive)
    this.#machines.set(name, machine)
    return machine
  }

  nextSeed(): number {
    return Math.floor(this.#seeds.next() * 0x1_0000_0000)
  }

  /** For a scenario to wait; the machines have clocks of their own. */
  async sleep(ms: number): Promise<void> {
    await sleep(this.clock, ms)
  }

  /** Lets time pass until the work is done; throws what it throws, and names what is stuck if it never ends. */
  async run<T>(work: Promise<T>, virtualMsMax = VIRTUAL_MS_MAX): Promise<T> {
    const state = { isDone: false }
    const watched = work.finally(() => {
      state.isDone = true
    })
    watched.catch(() => undefined)
    await this.#pass(() => state.isDone, virtualMsMax)
    if (!state.isDone)
      throw new Error(`Seed ${this.seed} is stuck: nothing is due and the work has not ended.\n${this.#recentTrace()}`)
    return await watched
  }

  /** Lets time pass until nothing is due any more. */
  async runUntilIdle(): Promise<void> {
    await this.#pass(() => false, VIRTUAL_MS_MAX)
  }

  /** What running machines still hold. */
  leaks(): string[] {
    return [...this.#machines.values()].flatMap((machine) => machine.leaks())
  }

  async #pass(isDone: () => boolean, virtualMsMax: number): Promise<void> {
    const goesOn = (): boolean => {
      if (this.clock.now() > virtualMsMax)
        throw new Error(`Seed ${this.seed} never comes to rest.\n${this.#recentTrace()}`)
      return !this.outside.busy && !isDone()
    }
    for (;;) {
      await this.clock.fireWhile(goesOn)
      if (!this.outside.busy) return
      await this.outside.idle()
    }
  }

  #recentTrace(): string {
    return this.trace.tail().slice(-40).join('\n')
  }
}
