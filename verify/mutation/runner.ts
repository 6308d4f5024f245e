/**
 * Tries every fault of a package against the tests that reach it, the quickest first, until one fails.
 *
 *   1. one run without any fault: how long each test takes, which switches it passes
 *   2. for each source file a process in which only that file has switches; its faults one after the other
 *   3. after each batch the tests that failed run once more without a fault: they must pass, or a fault has left
 *      something behind, and the batch is tried again with a process for each fault
 */
import { type ChildProcess, fork } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Loaded, LoadRequest, Ran, RunRequest } from './child.ts'
import { type Mutant, switchMutants } from './mutants.ts'

export type Status = 'killed' | 'endless' | 'survived' | 'unreached'

/** What became of one fault. */
export interface Outcome {
  readonly key: string
  readonly status: Status
  readonly by: string
  readonly why: string
  readonly version: string
}

export interface Keyed extends Mutant {
  /** The same as long as the file and the operators are. */
  readonly key: string
}

/** Every test without a fault. */
export interface DryRun {
  readonly ran: readonly Ran[]
  /** Faults at work while modules are loaded. */
  readonly early: readonly number[]
  /** Tests that show nothing here, and why. */
  readonly leftOut: readonly string[]
}

export interface Campaign {
  readonly root: string
  readonly sources: readonly string[]
  readonly testFiles: readonly string[]
  /** Of sources and tests together: what survived is tried again when it changes. */
  readonly version: string
  readonly known: ReadonlyMap<string, Outcome>
  record(outcome: Outcome): void
  isOver(): boolean
}

const BATCH = 25
/** Far above what any machine's bad day explains, in switches passed and in time. */
const limitOf = ({ passes }: Ran): number => passes * 5 + 200_000
const timeoutMs = ({ ms }: Ran): number => ms * 10 + 10_000
const LOAD_TIMEOUT_MS = 60_000
const DRY_TIMEOUT_MS = 120_000
const TOO_SLOW_MS = 5_000
const QUICK_MS = 200

export function digest(texts: readonly string[]): string {
  const hash = createHash('sha256')
  for (const text of texts) hash.update(text)
  return hash.digest('hex').slice(0, 12)
}

/** Every fault of these files, numbered from 1. */
export function findMutants(root: string, sources: readonly string[]): Keyed[] {
  const found: Keyed[] = []
  for (const file of sources) {
    const text = readFileSync(join(root, file), 'utf8')
    const version = digest([switchMutants(file, text, 1).source])
    const { mutants } = switchMutants(file, text, found.length + 1)
    found.push(...mutants.map((mutant, at) => ({ ...mutant, key: `${file} ${version} ${at}` })))
  }
  return found
}

class Worker {
  readonly #child: ChildProcess
  #answer: ((value: unknown) => void) | undefined

  constructor() {
    const path = fileURLToPath(new URL('./child.ts', import.meta.url))
    const env = { ...process.env, CAIRN_MUTATION: '1' }
    this.#child = fork(path, { env, execArgv: ['--expose-gc'], stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
    this.#child.on('message', (message) => this.#answer?.(message))
    this.#child.on('exit', () => this.#answer?.(undefined))
  }

  /** The answer, or nothing when the process has ended or takes too long; it is of no more use then. */
  async ask<Answer>(request: LoadRequest | RunRequest, timeLimitMs: number): Promise<Answer | undefined> {
    const timer = new AbortController()
    const answer = new Promise<unknown>((resolve) => {
      this.#answer = resolve
      wait(timeLimitMs, undefined, { signal: timer.signal }).then(
        () => resolve(undefined),
        () => undefined,
      )
    })
    if (this.#child.connected) this.#child.send(request)
    else this.#answer?.(undefined)
    const value = await answer
    timer.abort()
    if (value === undefined) this.end()
    return value as Answer | undefined
  }

  end(): void {
    this.#child.kill('SIGKILL')
  }
}

export class MutationRun {
  readonly #campaign: Campaign
  readonly #mutants: readonly Keyed[]
  readonly #byTest = new Map<string, Ran>()
  readonly #covering = new Map<number, Ran[]>()
  readonly #early: ReadonlySet<number>

  constructor(campaign: Campaign, mutants: readonly Keyed[], dryRun: DryRun) {
    this.#campaign = campaign
    this.#mutants = mutants
    this.#early = new Set(dryRun.early)
    for (const ran of dryRun.ran.toSorted((a, b) => a.ms - b.ms)) {
      this.#byTest.set(ran.test, ran)
      for (const id of ran.reached) this.#covering.set(id, [...(this.#covering.get(id) ?? []), ran])
    }
  }

  /**
   * Tries a third of every file first, so that a campaign that is cut short has seen a bit of everything; then what
   * survived other tests than these; then the rest.
   */
  async run(): Promise<void> {
    const { known, version, sources } = this.#campaign
    const isNew = ({ key }: Keyed): boolean => !known.has(key)
    const isMissed = ({ key }: Keyed): boolean => {
      const outcome = known.get(key)
      return outcome !== undefined && /survived|unreached/.test(outcome.status) && outcome.version !== version
    }
    const isSample = (mutant: Keyed): boolean => isNew(mutant) && mutant.id % 3 === 0
    const byCost = sources.toSorted((a, b) => this.#costOf(a) - this.#costOf(b))
    for (const isWanted of [isSample, isMissed, isNew]) {
      for (const file of byCost)
        await this.#tryFile(this.#mutants.filter((mutant) => mutant.file === file && isWanted(mutant)))
    }
  }

  /** How long all the tests that reach a file take: files that are quickly done come first. */
  #costOf(file: string): number {
    const ids = this.#mutants.filter((mutant) => mutant.file === file).map(({ id }) => id)
    const reaching = new Set(ids.flatMap((id) => this.#covering.get(id) ?? []))
    return [...reaching].reduce((sum, { ms }) => sum + ms, 0)
  }

  async #tryFile(mutants: readonly Keyed[]): Promise<void> {
    const late = mutants.filter(({ id }) => this.#covering.has(id))
    let worker: Worker | undefined
    for (let at = 0; at < late.length && !this.#campaign.isOver(); at += BATCH)
      worker = await this.#tryBatch(late.slice(at, at + BATCH), late, worker)
    worker?.end()
    for (const mutant of mutants) {
      if (this.#covering.has(mutant.id) || this.#campaign.isOver()) continue
      if (this.#early.has(mutant.id)) await this.#tryAlone(mutant)
      else this.#record(mutant, { status: 'unreached', by: '', why: '' })
    }
  }

  #record(mutant: Keyed, outcome: Pick<Outcome, 'status' | 'by' | 'why'>): void {
    this.#campaign.record({ key: mutant.key, version: this.#campaign.version, ...outcome })
  }

  /** Tries some of the faults of one file and gives back the process if it is still as good as new. */
  async #tryBatch(batch: readonly Keyed[], all: readonly Keyed[], fresh?: Worker): Promise<Worker | undefined> {
    let worker = fresh
    const tried: [Keyed, Ran | undefined][] = []
    for (const mutant of batch) {
      if (this.#campaign.isOver()) break
      worker ??= await this.#load(all)
      const failed = await this.#try(worker, mutant, this.#covering.get(mutant.id) ?? [])
      if (failed?.why === HUNG) worker = undefined
      tried.push([mutant, failed])
    }
    const failures = new Set(tried.map(([, failed]) => failed?.test))
    const again = [...this.#byTest.values()].filter(({ test }) => failures.has(test))
    const isSane = worker === undefined || (await this.#passes(worker, again))
    if (!isSane) worker?.end()
    for (const [mutant, failed] of tried) {
      if (failed !== undefined && !isSane && batch.length > 1) (await this.#tryBatch([mutant], [mutant]))?.end()
      else if (failed === undefined) await this.#tryAlone(mutant)
      else this.#record(mutant, outcomeOf(failed))
    }
    return isSane ? worker : undefined
  }

  /**
   * What survives in a process that has done much already is tried in a fresh one, since things made once at first use
   * were made without the fault; and what is at work while modules are loaded, with the tests beside its file, those that
   * come near it and whatever else is quick.
   */
  async #tryAlone(mutant: Keyed): Promise<void> {
    const siblings = this.#mutants.filter(({ file }) => file === mutant.file)
    const reaching = new Set(siblings.flatMap(({ id }) => this.#covering.get(id) ?? []))
    const all = [...this.#byTest.values()]
    // A test that only looks at a table passes no switch of it; what others make of the table may show anywhere.
    const beside = all.filter(({ test }) => isBeside(test, mutant))
    const near = all.filter((ran) => reaching.has(ran))
    const others = all.filter((ran) => !reaching.has(ran) && ran.ms < QUICK_MS)
    const stages = this.#early.has(mutant.id) ? [beside, near, others] : [this.#covering.get(mutant.id) ?? []]
    let outcome = outcomeOf(undefined)
    for (const tests of stages.filter(({ length }) => length > 0))
      if (outcome.status === 'survived') outcome = await this.#tryLoading(mutant, tests)
    this.#record(mutant, outcome)
  }

  async #tryLoading(mutant: Keyed, tests: readonly Ran[]): Promise<Pick<Outcome, 'status' | 'by' | 'why'>> {
    const worker = new Worker()
    const request = this.#loadRequest(mutant.file, this.#filesOf(tests), mutant.id)
    const loaded = await worker.ask<Loaded>(request, LOAD_TIMEOUT_MS)
    const failure = loaded === undefined ? HUNG : loaded.failure
    const failed = failure === '' ? await this.#try(worker, mutant, tests) : undefined
    worker.end()
    return failure === '' ? outcomeOf(failed) : { status: 'killed', by: 'loading', why: failure }
  }

  /** A process with the tests that reach any of these faults, which are all of one file. */
  async #load(mutants: readonly Keyed[]): Promise<Worker> {
    const files = this.#filesOf(mutants.flatMap(({ id }) => this.#covering.get(id) ?? []))
    const worker = new Worker()
    await worker.ask<Loaded>(this.#loadRequest(mutants[0]?.file ?? '', files, 0), LOAD_TIMEOUT_MS)
    return worker
  }

  #filesOf(tests: readonly Ran[]): string[] {
    const wanted = new Set(tests.map(({ test }) => test.split(' › ')[0]))
    return this.#campaign.testFiles.filter((file) => wanted.has(file))
  }

  #loadRequest(file: string, testFiles: readonly string[], active: number): LoadRequest {
    const firstId = this.#mutants.find((mutant) => mutant.file === file)?.id ?? 1
    return { kind: 'load', root: this.#campaign.root, faulty: [{ file, firstId }], testFiles, active }
  }

  /** The first test that fails with this fault at work. */
  async #try(worker: Worker, mutant: Keyed, tests: readonly Ran[]): Promise<Ran | undefined> {
    // The tests beside a file know most about it, and are worth more time than others.
    const cost = ({ test, ms }: Ran): number => (isBeside(test, mutant) ? ms / 5 : ms)
    for (const dry of tests.toSorted((a, b) => cost(a) - cost(b))) {
      const request: RunRequest = { kind: 'run', active: mutant.id, test: dry.test, limit: limitOf(dry) }
      const ran = await worker.ask<Ran>(request, timeoutMs(dry))
      if (ran === undefined) return { ...dry, result: 'endless', why: HUNG }
      if (ran.result !== 'passed') return ran
    }
    return undefined
  }

  async #passes(worker: Worker, tests: readonly Ran[]): Promise<boolean> {
    for (const { test, ...dry } of tests) {
      const ran = await worker.ask<Ran>({ kind: 'run', active: 0, test, limit: null }, timeoutMs({ test, ...dry }))
      if (ran?.result !== 'passed') return false
    }
    return true
  }
}

function isBeside(test: string, { file }: Mutant): boolean {
  return test.startsWith(file.replace(/ts$/, ''))
}

const HUNG = 'hung until its process was ended'

function outcomeOf(failed: Ran | undefined): Pick<Outcome, 'status' | 'by' | 'why'> {
  if (failed === undefined) return { status: 'survived', by: '', why: '' }
  return { status: failed.result === 'endless' ? 'endless' : 'killed', by: failed.test, why: failed.why }
}

/** Runs every test once without a fault. One that fails then, or takes too long to run for every fault, is left out. */
export async function runDry(root: string, mutants: readonly Keyed[], testFiles: readonly string[]): Promise<DryRun> {
  const firstIds = new Map<string, number>()
  for (const { file, id } of mutants) if (!firstIds.has(file)) firstIds.set(file, id)
  const faulty = Array.from(firstIds, ([file, firstId]) => ({ file, firstId }))
  const worker = new Worker()
  const loaded = await worker.ask<Loaded>({ kind: 'load', root, faulty, testFiles, active: 0 }, LOAD_TIMEOUT_MS)
  if (loaded === undefined || loaded.failure !== '') throw new Error(`The tests cannot be loaded: ${loaded?.failure}`)
  const ran: Ran[] = []
  const leftOut: string[] = []
  for (const test of loaded.tests) {
    const one = await worker.ask<Ran>({ kind: 'run', active: 0, test, limit: null }, DRY_TIMEOUT_MS)
    if (one === undefined) throw new Error(`${test} does not end.`)
    if (one.result === 'passed' && one.ms < TOO_SLOW_MS) ran.push(one)
    else leftOut.push(`${test}: ${one.why || `${Math.round(one.ms)} ms`}`)
  }
  worker.end()
  return { ran, early: loaded.reached, leftOut }
}
