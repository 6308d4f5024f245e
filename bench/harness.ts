/**
 * Ours against a peer: the two take turns, so that a slow minute of the machine hits both, and who goes first
 * alternates, so that neither always inherits a warm cache.
 *
 *   warm-up  ours peer │ ours peer │ peer ours │ ours peer │ …      medians of at least five rounds
 *                        └─ ratio ─┘ └─ ratio ─┘ └─ ratio ─┘
 *
 * Between rounds the machine may be twice as fast; the two sides of one round are neighbours in time.
 */
import { type Spread, spreadOf } from './statistics.ts'

export interface BenchCase {
  readonly name: string
  readonly unit: string
  readonly higherIsBetter: boolean
  /** What ours is compared with, in a few words. */
  readonly peerName: string
  /** Sizes, capacities and rates in force during the runs. */
  readonly limits: string
  /** One run: does the work and returns the figure in `unit`. */
  ours(): Promise<number>
  peer(): Promise<number>
  /** What the machine below ours could do at most, measured in the same rounds. */
  readonly bound?: { readonly name: string; readonly run: () => Promise<number> }
}

export interface Result {
  readonly bench: BenchCase
  readonly rounds: number
  readonly ours: Spread
  readonly peer: Spread
  /** How many times better ours is than the peer; below 1 it is worse. Of each round by itself: see the picture. */
  readonly ratio: Spread
  /** The same for the bound beside the peer, where there is one: ours cannot be much above it. */
  readonly boundRatio: Spread | undefined
}

const ROUNDS_MIN = 5
const WARM_UPS = 2

/** Runs both sides by turns. `settle` runs before each, to collect garbage the other left. */
export async function measure(bench: BenchCase, rounds: number, settle: () => void = () => {}): Promise<Result> {
  if (rounds < ROUNDS_MIN) throw new RangeError(`A median of fewer than ${ROUNDS_MIN} rounds says little.`)
  const figures = { ours: new Array<number>(), peer: new Array<number>(), bound: new Array<number>() }
  const takeTurn = async (side: 'ours' | 'peer' | 'bound', keeps: boolean): Promise<void> => {
    settle()
    const figure = side === 'bound' ? await (bench.bound?.run() ?? 0) : await bench[side]()
    if (!(figure > 0)) throw new RangeError(`${bench.name}: ${side} measured ${figure} ${bench.unit}.`)
    if (keeps) figures[side].push(figure)
  }
  for (let round = -WARM_UPS; round < rounds; round += 1) {
    const [first, second] = round % 2 === 0 ? (['ours', 'peer'] as const) : (['peer', 'ours'] as const)
    await takeTurn(first, round >= 0)
    await takeTurn(second, round >= 0)
    if (bench.bound !== undefined) await takeTurn('bound', round >= 0)
  }
  const besidePeer = (side: readonly number[]): Spread => {
    const ratios = side.map((figure, round) => {
      const peer = figures.peer[round] ?? Number.NaN
      return bench.higherIsBetter ? figure / peer : peer / figure
    })
    return spreadOf(ratios)
  }
  const boundRatio = bench.bound === undefined ? undefined : besidePeer(figures.bound)
  const [ours, peer] = [spreadOf(figures.ours), spreadOf(figures.peer)]
  return { bench, rounds, ours, peer, ratio: besidePeer(figures.ours), boundRatio }
}

/** Operations a second of a run that must end with `expected`, so that no work can be skipped unseen. */
export async function perSecond(
  operations: number,
  expected: number,
  work: () => number | Promise<number>,
): Promise<number> {
  const startedAt = performance.now()
  const outcome = await work()
  const elapsedMs = performance.now() - startedAt
  if (outcome !== expected)
    throw new Error(`The run ended with ${outcome} and not ${expected}: it measured something else.`)
  return (operations * 1000) / elapsedMs
}
