/**
 * Looks for inputs that a parser does not survive, led by what of its code has run.
 *
 *     corpus ─▶ change ─▶ run many ─▶ anything new? ─ no ─▶ again
 *       ▲                                │ yes
 *       └── the one that made them ◀── run half of them, and half of those …
 *
 * To refuse is right: a `CairnError` that is no defect. Anything else thrown, and anything that takes a second, is a find.
 */
import { CairnError } from '@cairn/kernel'
import { SeededRandom } from '@cairn/kernel/testing'
import type { Coverage } from './coverage.ts'
import { mutate } from './mutate.ts'
import { reshape, type Shape } from './reshape.ts'

export interface FuzzTarget {
  readonly name: string
  /** Folders or files whose code counts, from the root of the repository. */
  readonly covers: readonly string[]
  readonly seeds: readonly Uint8Array[]
  readonly words: readonly string[]
  readonly bytesMax: number
  /** Of formats that spell values: half of the inputs are then made by changing what they spell. */
  readonly shape?: Shape
  /** Reads the input and checks what must hold of whatever was read. */
  readonly run: (input: Uint8Array) => void | Promise<void>
  /** Lets go of what runs have opened. */
  readonly close?: () => Promise<void>
}

export interface Find {
  readonly input: Uint8Array
  readonly error: Error
}

export interface FuzzReport {
  readonly executions: number
  /** Characters of source that ran, of those there are. */
  readonly reached: number
  readonly total: number
  /** Inputs that each reached something no other had. */
  readonly corpus: readonly Uint8Array[]
  readonly finds: readonly Find[]
}

export interface FuzzOptions {
  /** Begun before the target was loaded. */
  readonly coverage: Coverage
  readonly seed: number
  readonly corpus: readonly Uint8Array[]
  /** Asked between batches. */
  readonly isOver: (executions: number) => boolean
}

/** Reading the counters takes as long as some hundred inputs. */
const BATCH = 512
const SLOW_MS = 1_000
/** After so many different ones the target needs work more than the fuzzer does. */
const FINDS_MAX = 16

export async function fuzz(target: FuzzTarget, { coverage, seed, corpus, isOver }: FuzzOptions): Promise<FuzzReport> {
  const random = new SeededRandom(seed)
  const words = target.words.map((word) => new TextEncoder().encode(word))
  const mutator = { random, words, bytesMax: target.bytesMax }
  const kept: Uint8Array[] = []
  const finds = new Map<string, Find>()
  let executions = 0

  const tryOne = async (input: Uint8Array): Promise<void> => {
    executions += 1
    const error = await failureOf(target, input)
    if (error !== undefined && !finds.has(error.message)) finds.set(error.message, { input, error })
  }
  /** Runs the inputs and keeps those that reach something new. */
  const keepNew = async (inputs: readonly Uint8Array[]): Promise<void> => {
    for (const input of inputs) await tryOne(input)
    const [only] = inputs
    if (inputs.length === 1 && only !== undefined) {
      if (coverage.learn()) kept.push(only)
      return
    }
    if (!coverage.look()) return
    const half = inputs.length >> 1
    await keepNew(inputs.slice(0, half))
    await keepNew(inputs.slice(half))
  }
  coverage.follow(target.covers)
  await keepNew([...target.seeds, ...corpus])
  if (kept.length === 0) kept.push(new Uint8Array())

  while (!isOver(executions) && finds.size < FINDS_MAX) {
    await keepNew(Array.from({ length: BATCH }, () => changed(oneOf(kept), oneOf(kept))))
  }
  const { reached, total } = coverage
  return { executions, reached, total, corpus: kept, finds: [...finds.values()] }

  function changed(input: Uint8Array, other: Uint8Array): Uint8Array {
    const { shape } = target
    const reshaped = shape !== undefined && random.next() < 0.5 ? reshape(mutator, shape, input, other) : undefined
    return reshaped ?? mutate(mutator, input, other)
  }

  function oneOf(inputs: readonly Uint8Array[]): Uint8Array {
    return inputs[Math.floor(random.next() * inputs.length)] ?? new Uint8Array()
  }
}

/** What is wrong with how the target took the input; nothing if it read or refused it. */
export async function failureOf(
  target: Pick<FuzzTarget, 'run'>,
  input: Uint8Array,
  slowMs = SLOW_MS,
): Promise<Error | undefined> {
  const error = await triedOnce(target, input, slowMs)
  // Somebody else's garbage may have been collected meanwhile; an input that is slow is slow again.
  return error instanceof SlowError ? await triedOnce(target, input, slowMs) : error
}

class SlowError extends Error {}

async function triedOnce(
  { run }: Pick<FuzzTarget, 'run'>,
  input: Uint8Array,
  slowMs: number,
): Promise<Error | undefined> {
  const startedAt = performance.now()
  const spentBefore = process.cpuUsage()
  try {
    await run(input)
  } catch (error) {
    const isRefusal = error instanceof CairnError && error.kind !== 'Internal'
    if (!isRefusal) return error instanceof Error ? error : new Error(String(error))
  }
  if (performance.now() - startedAt <= slowMs) return undefined
  // Somebody else may have had the processor meanwhile; what counts is what the input took of it.
  const { user, system } = process.cpuUsage(spentBefore)
  return user + system > slowMs * 1000 ? new SlowError(`It took more than ${slowMs} ms.`) : undefined
}
