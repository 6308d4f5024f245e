/**
 * Which parts of the code under test have run, by V8's own counters. They name, for each function that was called, the
 * parts of it that were not reached; what no input has reached yet is kept here.
 *
 *     function ████████████████████     called
 *       input 1     ░░░░░░░░░░░░░       not reached by it
 *       input 2 ░░░░       ░░░░░░       not reached by it
 *       never              ░░░░░░       what is left to find: input 2 brought something new
 *
 * Reading the counters takes far longer than most inputs do, so whoever asks lets many inputs run first.
 */
import { readFileSync } from 'node:fs'
import { Session } from 'node:inspector'

const ROOT = new URL('../../', import.meta.url)

interface CoverageAnswer {
  readonly result: readonly { readonly url: string; readonly functions: readonly CalledFunction[] }[]
}

interface CalledFunction {
  /** The function itself, then parts of it whose count is another. */
  readonly ranges: readonly { readonly startOffset: number; readonly endOffset: number; readonly count: number }[]
}

type Interval = readonly [start: number, end: number]

/** A function as it stands in its file. */
interface Place {
  readonly url: string
  readonly whole: Interval
}

/** A part of a file that no input has reached. */
export interface Missed {
  /** From the root of the repository. */
  readonly file: string
  readonly line: number
  readonly text: string
}

export class Coverage implements Disposable {
  readonly #session = new Session()
  /** Every function of the repository that was loaded, called or not. */
  readonly #places = new Map<string, Place>()
  #prefixes: readonly string[] = []
  /** Of each function that was called, what was never reached of it, in order. */
  #known = new Map<string, readonly Interval[]>()

  /** Before the code it is to follow is loaded: what was compiled earlier has counters for whole functions only. */
  constructor() {
    this.#session.connect()
    this.#post('Profiler.enable')
    this.#post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  }

  /** From now on these folders and files count, from the root of the repository, and nothing of them has run. */
  follow(places: readonly string[]): void {
    this.#prefixes = places.map((place) => new URL(place, ROOT).href)
    this.#known = new Map()
    this.#read()
  }

  /** Characters of source that were reached. */
  get reached(): number {
    return this.total - this.#followed().reduce((sum, place) => sum + sizeOf(this.#missedIn(place)), 0)
  }

  /** Characters of source that could be; what stands in a function in a function counts for both. */
  get total(): number {
    return this.#followed().reduce((sum, [, { whole }]) => sum + sizeOf([whole]), 0)
  }

  /** What was not reached, in the order of the files; of what is within another only the outer. */
  missed(): Missed[] {
    return this.#prefixes.flatMap((prefix) => {
      const places = this.#followed().filter(([, { url }]) => url.startsWith(prefix))
      return [...Map.groupBy(places, ([, { url }]) => url)].flatMap(([url, held]) => {
        const source = readFileSync(new URL(url), 'utf8')
        const parts = held.flatMap((place) => this.#missedIn(place)).sort(([a, b], [c, d]) => a - c || d - b)
        const outer = parts.filter(([, end], at) => parts.slice(0, at).every(([, before]) => before < end))
        return outer.map(([start, end]) => ({
          file: url.slice(ROOT.href.length),
          line: source.slice(0, start).split('\n').length,
          text: source.slice(start, end).replaceAll(/\s+/g, ' ').trim(),
        }))
      })
    })
  }

  #followed(): [string, Place][] {
    return [...this.#places].filter(([, { url }]) => this.#prefixes.some((prefix) => url.startsWith(prefix)))
  }

  #missedIn([name, { whole }]: readonly [string, Place]): readonly Interval[] {
    return this.#known.get(name) ?? [whole]
  }

  /** Whether anything ran since the last question that never ran before; it stays new. */
  look(): boolean {
    return this.#read().some(({ isNew }) => isNew)
  }

  /** The same, and from now on it is known. */
  learn(): boolean {
    const called = this.#read()
    for (const { name, missed } of called) this.#known.set(name, missed)
    return called.some(({ isNew }) => isNew)
  }

  #read(): { readonly name: string; readonly missed: readonly Interval[]; readonly isNew: boolean }[] {
    const { result } = this.#post('Profiler.takePreciseCoverage') as CoverageAnswer
    return result
      .filter(({ url }) => url.startsWith(ROOT.href))
      .flatMap(({ url, functions }) => functions.map((called) => ({ url, called })))
      .flatMap(({ url, called: { ranges } }) => {
        const [outer] = ranges
        // The first is the file itself, which runs when it is loaded.
        if (outer === undefined || outer.startOffset === 0) return []
        const whole: Interval = [outer.startOffset, outer.endOffset]
        const name = `${url}:${whole.join(':')}`
        this.#places.set(name, { url, whole })
        if (outer.count === 0 || !this.#prefixes.some((prefix) => url.startsWith(prefix))) return []
        const missing = ranges
          .filter(({ count }) => count === 0)
          .map(({ startOffset, endOffset }): Interval => [startOffset, endOffset])
        const known = this.#known.get(name)
        const missed = known === undefined ? missing : common(known, missing)
        const isNew = known === undefined || sizeOf(missed) < sizeOf(known)
        return [{ name, missed, isNew }]
      })
  }

  [Symbol.dispose](): void {
    this.#post('Profiler.stopPreciseCoverage')
    this.#session.disconnect()
  }

  /** The session is this thread's own: it answers before `post` returns. */
  #post(method: string, options?: object): unknown {
    const answers: { readonly error: Error | null; readonly result: unknown }[] = []
    this.#session.post(method, options, (error, result) => {
      answers.push({ error, result })
    })
    const [answer] = answers
    if (answer === undefined || answer.error !== null) throw new Error(`${method} failed.`, { cause: answer?.error })
    return answer.result
  }
}

/** What lies in both. */
function common(a: readonly Interval[], b: readonly Interval[]): Interval[] {
  const both: Interval[] = []
  for (const [from, to] of a)
    for (const [start, end] of b) {
      const [low, high] = [Math.max(from, start), Math.min(to, end)]
      if (low < high) both.push([low, high])
    }
  return both
}

function sizeOf(intervals: readonly Interval[]): number {
  return intervals.reduce((sum, [start, end]) => sum + end - start, 0)
}
