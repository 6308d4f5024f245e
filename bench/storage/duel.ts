/**
 * One client program, wrk, against several servers, a slice of time each:
 *
 *     ours   ▇▇▇▇        ▇▇▇▇▇▇▇▇        ▇▇▇▇      the same connections all the while; whoever is not on is stopped
 *     peer       ▇▇▇▇▇▇▇▇        ▇▇▇▇▇▇▇▇          (SIGSTOP), and its server has nothing to do
 *
 * A shared machine changes its speed within seconds. Neighbouring slices see the same machine, so the ratio of the
 * two totals is worth more than either of them.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Figures } from '../paired.ts'
import { Program } from './programs.ts'

const SCRIPT = fileURLToPath(new URL('./wrk.lua', import.meta.url))
const SLICE_MS = 150
/** wrk looks ten times a second whether it should end; if its last look is longer ago, it ends the moment it goes on. */
const SETTLE_MS = 120

export interface DuelOptions {
  /** wrk itself. */
  readonly program: string
  readonly connections: number
  /** Of each side, in slices of 150 ms. */
  readonly slices: number
  /** A third server, for what the machine below ours could do at most. */
  readonly boundUrl?: string
  /** A file of paths to ask for in turn, instead of the one in the URL. */
  readonly pathsFile?: string
  readonly unit: 'requests' | 'bytes'
}

interface Totals {
  readonly requests: number
  readonly bytes: number
  readonly failed: number
}

/** Requests or bytes a second of each. */
export async function duel(oursUrl: string, peerUrl: string, options: DuelOptions): Promise<Figures> {
  await using ours = new Contender(oursUrl, options)
  await using peer = new Contender(peerUrl, options)
  await using bound = options.boundUrl === undefined ? undefined : new Contender(options.boundUrl, options)
  const contenders = bound === undefined ? [ours, peer] : [ours, peer, bound]
  for (let slice = 0; slice < options.slices; slice += 1) {
    for (const contender of slice % 2 === 0 ? contenders : contenders.toReversed()) await contender.slice()
  }
  await sleep(SETTLE_MS)
  const { unit } = options
  const figures = { ours: await ours.finish(unit), peer: await peer.finish(unit) }
  return bound === undefined ? figures : { ...figures, bound: await bound.finish(unit) }
}

class Contender implements AsyncDisposable {
  readonly #url: string
  readonly #program: Program
  #activeMs = 0

  constructor(url: string, { program, connections, pathsFile }: DuelOptions) {
    this.#url = url
    const more = pathsFile === undefined ? [] : ['--', pathsFile]
    // It would go on for an hour; it is interrupted long before, and then says its totals.
    const options = ['-t1', `-c${connections}`, '-d1h', '--timeout', '60s', '-s', SCRIPT, url, ...more]
    this.#program = new Program(program, options)
    this.#program.signal('SIGSTOP')
  }

  async slice(): Promise<void> {
    const startedAt = performance.now()
    this.#program.signal('SIGCONT')
    await sleep(SLICE_MS)
    this.#program.signal('SIGSTOP')
    this.#activeMs += performance.now() - startedAt
  }

  async finish(unit: 'requests' | 'bytes'): Promise<number> {
    const output = this.#program.output()
    this.#program.signal('SIGCONT')
    // One signal ends the load. If another thread than the one that sleeps took it, that one needs its own.
    const again = setInterval(() => this.#program.signal('SIGINT'), 30)
    const text = await output.finally(() => clearInterval(again))
    const line = text.split('\n').find((each) => each.startsWith('{'))
    if (line === undefined) throw new Error('wrk did not say its totals.')
    const totals = JSON.parse(line) as Totals
    if (totals.failed > 0) throw new Error(`${totals.failed} requests to ${this.#url} failed.`)
    return (totals[unit] * 1000) / this.#activeMs
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#program.signal('SIGCONT')
    await this.#program.stop('SIGKILL')
  }
}
