/**
 * The wires between machines: each packet is delayed, lost, doubled or held back, by the seed or by a
 * hook, and none crosses a partition.
 */
import type { Random } from '@cairn/kernel'
import type { VirtualClock } from '@cairn/kernel/testing'
import type { Trace } from '../trace.ts'

export interface Packet {
  /** Counted over the whole world, from 1. */
  readonly number: number
  readonly from: string
  readonly to: string
  /** `request PUT :7071 /o/… with 9 bytes`, `answer 201 to PUT :7071 with 80 bytes`, `body 512 bytes`. */
  readonly what: string
}

export interface NetworkConditions {
  readonly delayMsMin: number
  readonly delayMsMax: number
  /** Chances, 0 to 1. */
  readonly loss: number
  readonly duplication: number
  /** The chance to be held back by ten delays, and so be overtaken. */
  readonly reorder: number
}

/** What a hook may do to one packet, on top of the conditions. */
export interface Tampering {
  readonly drop?: boolean
  readonly duplicate?: boolean
  readonly extraDelayMs?: number
}

export type Mishap = 'loss' | 'duplication' | 'reorder' | 'cut'

export const CALM: NetworkConditions = { delayMsMin: 0.2, delayMsMax: 2, loss: 0, duplication: 0, reorder: 0 }

export class Links {
  conditions: NetworkConditions = CALM
  /** Called for every packet, in order. */
  tamper: ((packet: Packet) => Tampering | undefined) | undefined
  /** Hears of every packet that something happens to, and how long it takes if it arrives. */
  onMishap: ((mishap: Mishap, packet: Packet, delayMs: number) => void) | undefined
  /** Hears of every packet that is on its way: nothing that happens to its sender now keeps it from arriving. */
  onSent: ((packet: Packet) => void) | undefined
  readonly #clock: VirtualClock
  readonly #random: Random
  readonly #trace: Trace
  readonly #cut = new Set<string>()
  readonly #stalledUntil = new Map<string, number>()
  #packets = 0

  constructor(clock: VirtualClock, random: Random, trace: Trace) {
    this.#clock = clock
    this.#random = random
    this.#trace = trace
  }

  /** Sends one packet; `arrive` runs when it gets there, not at all if it does not, twice if it was doubled. */
  send(from: string, to: string, what: string, arrive: () => void, notBefore = 0): { readonly dueAt: number } {
    this.#packets += 1
    const packet: Packet = { number: this.#packets, from, to, what }
    const { drop = false, duplicate = false, extraDelayMs = 0 } = this.tamper?.(packet) ?? {}
    // There is no conditions inside a machine.
    const conditions = from === to ? CALM : this.conditions
    const lost = this.#random.next() < conditions.loss || drop
    const copies = lost ? 0 : this.#random.next() < conditions.duplication || duplicate ? 2 : 1
    const delayMs = this.#delay(conditions)
    const dueAt = Math.max(notBefore, this.#clock.now() + delayMs + extraDelayMs)
    if (lost) this.onMishap?.('loss', packet, delayMs)
    else if (copies > 1) this.onMishap?.('duplication', packet, delayMs)
    else if (delayMs > conditions.delayMsMax) this.onMishap?.('reorder', packet, delayMs)
    this.#note(packet, lost ? 'is lost' : `due ${dueAt}`)
    for (let copy = 0; copy < copies; copy += 1) {
      this.#clock.timer(dueAt - this.#clock.now() + copy * this.#delay(conditions), () => this.#arrive(packet, arrive))
    }
    if (!lost) this.onSent?.(packet)
    return { dueAt }
  }

  /** Cuts the wires between these machines, both ways, or one way only. */
  partition(from: readonly string[], to: readonly string[], ways: 'both' | 'one' = 'both'): void {
    for (const a of from) {
      for (const b of to) {
        this.#cut.add(`${a} ${b}`)
        if (ways === 'both') this.#cut.add(`${b} ${a}`)
      }
    }
  }

  /** Mends all wires, or those between these machines. */
  heal(from?: readonly string[], to: readonly string[] = []): void {
    if (from === undefined) this.#cut.clear()
    for (const a of from ?? [])
      for (const b of to) for (const wire of [`${a} ${b}`, `${b} ${a}`]) this.#cut.delete(wire)
  }

  /** What is sent to this machine waits before it arrives for so long. */
  stall(machine: string, forMs: number): void {
    this.#stalledUntil.set(machine, this.#clock.now() + forMs)
  }

  #arrive(packet: Packet, arrive: () => void): void {
    const waitMs = (this.#stalledUntil.get(packet.to) ?? 0) - this.#clock.now()
    if (waitMs > 0) {
      this.#clock.timer(waitMs, () => this.#arrive(packet, arrive))
      return
    }
    const isCut = this.#cut.has(`${packet.from} ${packet.to}`)
    this.#note(packet, isCut ? 'is cut off' : 'arrives')
    if (isCut) this.onMishap?.('cut', packet, 0)
    else arrive()
  }

  #delay({ delayMsMin, delayMsMax, reorder }: NetworkConditions): number {
    const delay = delayMsMin + this.#random.next() * (delayMsMax - delayMsMin)
    return this.#random.next() < reorder ? 10 * delay : delay
  }

  #note({ number, from, to, what }: Packet, fate: string): void {
    this.#trace.note(`${this.#clock.now()} packet ${number} ${from} ${to} ${what} ${fate}`)
  }
}
