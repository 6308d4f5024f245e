/**
 * The process the faults are tried in: loads the tests of a package over its sources with every switch in them, then
 * runs what it is asked to with one switch on. Modules are loaded once; only a fault at work while they are loaded needs
 * a process of its own.
 */
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { switchMutants } from './mutants.ts'
import { collect, runTest } from './tests.ts'

/** A file to be loaded with its faults, and the number of the first one. */
export interface Faulty {
  readonly file: string
  readonly firstId: number
}

export interface LoadRequest {
  readonly kind: 'load'
  readonly root: string
  readonly faulty: readonly Faulty[]
  readonly testFiles: readonly string[]
  /** The fault at work while modules are loaded, or 0. */
  readonly active: number
}

export interface RunRequest {
  readonly kind: 'run'
  readonly active: number
  readonly test: string
  /** How many switches the test may pass before it counts as endless. */
  readonly limit: number | null
}

export interface Ran {
  readonly test: string
  readonly ms: number
  readonly passes: number
  /** Faults whose switch was passed; listed when no fault is at work. */
  readonly reached: readonly number[]
  readonly result: 'passed' | 'failed' | 'endless'
  readonly why: string
}

export interface Loaded {
  readonly tests: readonly string[]
  readonly reached: readonly number[]
  readonly failure: string
}

/** An endless loop is left by this; what catches it meets the next one at the next switch. */
class Endless extends Error {}

class Switchboard {
  active = 0
  passes = 0
  limit = Number.POSITIVE_INFINITY
  reached = new Set<number>()

  readonly isOn = (id: number): boolean => {
    this.passes += 1
    if (this.passes > this.limit) throw new Endless('passed its switches more often than it may')
    if (this.active === 0) this.reached.add(id)
    return id === this.active
  }

  start(active: number, limit: number): void {
    this.active = active
    this.limit = limit
    this.passes = 0
    this.reached = new Set()
  }
}

const STAND_INS: ReadonlyMap<string, string> = new Map([
  ['node:test', new URL('./tests.ts', import.meta.url).href],
  ['fast-check', new URL('./properties.ts', import.meta.url).href],
])

const switchboard = new Switchboard()
let fail: ((error: unknown) => void) | undefined

function describe(error: unknown): string {
  return (error instanceof Error ? `${error.name}: ${error.message}` : String(error)).slice(0, 300)
}

async function load({ root, faulty, testFiles, active }: LoadRequest): Promise<Loaded> {
  Reflect.set(globalThis, '$mutant', switchboard.isOn)
  const firstIds = new Map(faulty.map(({ file, firstId }) => [pathToFileURL(join(root, file)).href, { file, firstId }]))
  registerHooks({
    resolve: (specifier, context, next) => {
      const url = STAND_INS.get(specifier)
      return url === undefined || url === context.parentURL ? next(specifier, context) : { url, shortCircuit: true }
    },
    load: (url, context, next) => {
      // A test may load a second copy of a module under another query.
      const found = firstIds.get(url.replace(/\?.*$/, ''))
      if (found === undefined) return next(url, context)
      const { source } = switchMutants(found.file, readFileSync(join(root, found.file), 'utf8'), found.firstId)
      return { format: 'module-typescript', source, shortCircuit: true }
    },
  })
  switchboard.start(active, Number.POSITIVE_INFINITY)
  const tests: string[] = []
  let failure = ''
  try {
    for (const file of testFiles) tests.push(...(await collect(file, pathToFileURL(join(root, file)).href)))
  } catch (error) {
    failure = describe(error)
  }
  return { tests, reached: [...switchboard.reached], failure }
}

async function run({ test, active, limit }: RunRequest): Promise<Ran> {
  switchboard.start(active, limit ?? Number.POSITIVE_INFINITY)
  const startedAt = performance.now()
  let error: unknown
  await new Promise<void>((resolve) => {
    fail = (thrown) => {
      error ??= thrown ?? new Error('failed with nothing')
      resolve()
    }
    runTest(test).then(resolve, fail)
  })
  // What a test leaves behind may still fail, and would be blamed on the next one.
  for (let turn = 0; turn < 2; turn += 1) await nextTurn()
  fail = undefined
  const isEndless = limit !== null && switchboard.passes > limit
  const result = isEndless ? 'endless' : error === undefined ? 'passed' : 'failed'
  const { passes, reached } = switchboard
  switchboard.start(0, Number.POSITIVE_INFINITY)
  const why = error === undefined ? '' : describe(error)
  const ms = performance.now() - startedAt
  return { test, ms, passes, reached: [...reached], result, why }
}

const late = (error: unknown): void => fail?.(error)
process.on('uncaughtException', late)
process.on('unhandledRejection', late)
// Nothing is left to happen and the test waits: node:test calls that a failure, too.
process.on('beforeExit', () => late(new Error('waits for what never happens')))
process.on('message', (request: LoadRequest | RunRequest) => {
  process.channel?.unref()
  const answer: Promise<Loaded | Ran> = request.kind === 'load' ? load(request) : run(request)
  answer.then((value) => {
    process.channel?.ref()
    process.send?.(value)
  }, late)
})
