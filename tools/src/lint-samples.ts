/**
 * What the linter must report, and what it must leave alone: a few lines for each rule, at the path they would have.
 * `lint.test.ts` writes them into an empty folder and runs the linter there with the repository's own configuration.
 */

export interface Sample {
  readonly path: string
  readonly source: string
}

interface RuleSamples {
  readonly bad: readonly Sample[]
  readonly good: readonly Sample[]
}

const PRODUCT = 'packages/store/src/sample.ts'
const SERVICE = 'services/edge/src/sample.ts'
const CORE = 'packages/store/src/sample-core.ts'
const TEST = 'packages/store/src/sample.test.ts'
const KERNEL = 'packages/kernel/src/sample.ts'
const CLOCK = 'packages/kernel/src/clock.ts'
const RANDOM = 'packages/kernel/src/random.ts'
const PLATFORM = 'packages/platform/src/sample.ts'
const TOOL = 'tools/src/sample.ts'

const at = (path: string, ...sources: readonly string[]): Sample[] => sources.map((source) => ({ path, source }))

const PAUSE = 'declare const pause: () => Promise<number>\n'
const LINES = (count: number): string => `export const sizes: readonly number[] = [\n${'  1,\n'.repeat(count - 2)}]\n`
const CLASS = (body: string): string => `${PAUSE}export class Sample {\n  total = 0\n  ${body}\n}\n`
const MAP = (body: string): string =>
  `${PAUSE}export async function add(totals: Map<string, number>, key: string): Promise<void> {\n  ${body}\n}\n`
const LINE = (body: string): string =>
  `${PAUSE}export class Sample {\n  readonly line: number[] = []\n  async add(): Promise<void> {\n    ${body}\n  }\n}\n`

const PROMISE_SAMPLES: Readonly<Record<string, RuleSamples>> = {
  'typescript/no-floating-promises': {
    bad: at(
      PRODUCT,
      `${PAUSE}export function start(): void {\n  pause()\n}\n`,
      `${PAUSE}export function start(): void {\n  void pause()\n}\n`,
    ),
    good: at(TEST, `import { test } from 'node:test'\ntest('adds', () => {})\n`),
  },
  'typescript/no-misused-promises': {
    bad: at(PRODUCT, `${PAUSE}export const ready = (): number => (pause() ? 1 : 2)\n`),
    good: at(PRODUCT, `${PAUSE}export const ready = async (): Promise<number> => ((await pause()) > 0 ? 1 : 2)\n`),
  },
  'typescript/strict-void-return': {
    bad: at(
      PRODUCT,
      `declare const listen: (heard: () => void) => void\nexport const start = (): void => listen(() => 1)\n`,
    ),
    good: at(
      PRODUCT,
      `declare const listen: (heard: () => void) => void\nexport const start = (): void => listen(() => {})\n`,
    ),
  },
  'typescript/await-thenable': {
    bad: at(PRODUCT, 'export async function start(): Promise<number> {\n  return await 1\n}\n'),
    good: [],
  },
  'typescript/require-await': {
    bad: at(PRODUCT, 'export async function start(): Promise<number> {\n  return 1\n}\n'),
    good: at(TEST, 'export const standIn = async (): Promise<number> => 1\n'),
  },
  'typescript/return-await': {
    bad: at(
      PRODUCT,
      `${PAUSE}export async function start(): Promise<number> {\n  if ((await pause()) > 1) return 1\n  return pause()\n}\n`,
    ),
    good: at(PRODUCT, `${PAUSE}export async function start(): Promise<number> {\n  return await pause()\n}\n`),
  },
  'typescript/prefer-promise-reject-errors': {
    bad: at(PRODUCT, `export const start = (): Promise<never> => Promise.reject('no')\n`),
    good: at(PRODUCT, `export const start = (): Promise<never> => Promise.reject(new Error('no'))\n`),
  },
  'typescript/only-throw-error': {
    bad: at(PRODUCT, `export function start(): never {\n  throw 'no'\n}\n`),
    good: [],
  },
  'typescript/use-unknown-in-catch-callback-variable': {
    bad: at(PRODUCT, `${PAUSE}export const start = (): Promise<number> => pause().catch((_problem: Error) => 1)\n`),
    good: at(PRODUCT, `${PAUSE}export const start = (): Promise<number> => pause().catch((_problem: unknown) => 1)\n`),
  },
  'eslint/no-async-promise-executor': {
    bad: at(
      PRODUCT,
      `${PAUSE}export const start = (): Promise<number> =>\n  new Promise(async (resolve) => {\n    resolve(await pause())\n  })\n`,
    ),
    good: [],
  },
  'eslint/no-promise-executor-return': {
    bad: at(
      PRODUCT,
      'export const start = (): Promise<number> =>\n  new Promise((resolve) => {\n    return resolve(1)\n  })\n',
    ),
    good: [],
  },
}

const TYPE_SAMPLES: Readonly<Record<string, RuleSamples>> = {
  'typescript/switch-exhaustiveness-check': {
    bad: at(
      PRODUCT,
      `export function name(state: 'open' | 'closed'): number {\n  switch (state) {\n    case 'open':\n      return 1\n    default:\n      return 2\n  }\n}\n`,
    ),
    good: at(
      PRODUCT,
      `export function name(state: 'open' | 'closed'): number {\n  switch (state) {\n    case 'open':\n      return 1\n    case 'closed':\n      return 2\n  }\n}\n`,
    ),
  },
  'typescript/no-explicit-any': { bad: at(PRODUCT, 'export type Sample = any\n'), good: [] },
  'typescript/no-unsafe-argument': {
    bad: at(
      PRODUCT,
      `declare const take: (n: number) => void\nexport const start = (text: string): void => take(JSON.parse(text))\n`,
    ),
    good: [],
  },
  'typescript/no-unsafe-assignment': {
    bad: at(
      PRODUCT,
      'export function start(text: string): string {\n  const found: number = JSON.parse(text)\n  return String(found)\n}\n',
    ),
    good: at(
      PRODUCT,
      'export function start(text: string): string {\n  const found: unknown = JSON.parse(text)\n  return String(found)\n}\n',
    ),
  },
  'typescript/no-unsafe-call': {
    bad: at(PRODUCT, 'export function start(text: string): void {\n  JSON.parse(text)()\n}\n'),
    good: [],
  },
  'typescript/no-unsafe-member-access': {
    bad: at(PRODUCT, 'export const start = (text: string): boolean => JSON.parse(text).size === 1\n'),
    good: [],
  },
  'typescript/no-unsafe-return': {
    bad: at(PRODUCT, 'export const start = (text: string): number => JSON.parse(text)\n'),
    good: [],
  },
  'typescript/no-non-null-assertion': {
    bad: at(PRODUCT, 'export const first = (list: number[]): number => list[0]!\n'),
    good: at(TEST, 'export const first = (list: number[]): number => list[0]!\n'),
  },
  'typescript/no-unnecessary-condition': {
    bad: at(PRODUCT, 'export const size = (list: number[]): number => list?.length\n'),
    good: at(PRODUCT, 'export function spin(): void {\n  while (true) if (spin.length > 1) return\n}\n'),
  },
  'typescript/no-deprecated': {
    bad: at(
      PRODUCT,
      '/** @deprecated by now */\ndeclare function before(): number\nexport const start = (): number => before()\n',
    ),
    good: [],
  },
  'typescript/prefer-readonly': {
    bad: at(PRODUCT, 'export class Sample {\n  #size = 1\n  size = (): number => this.#size\n}\n'),
    good: at(PRODUCT, 'export class Sample {\n  readonly #size = 1\n  size = (): number => this.#size\n}\n'),
  },
  'typescript/ban-ts-comment': {
    bad: at(PRODUCT, `// @ts-ignore\nexport const size: number = 'one'\n`),
    good: [],
  },
  'typescript/consistent-type-imports': {
    bad: at(TEST, `import { URL } from 'node:url'\nexport const path = (url: URL): string => url.pathname\n`),
    good: at(TEST, `import type { URL } from 'node:url'\nexport const path = (url: URL): string => url.pathname\n`),
  },
}

const SHAPE_SAMPLES: Readonly<Record<string, RuleSamples>> = {
  'eslint/no-console': {
    bad: [...at(PRODUCT, `console.log('here')\n`), ...at(TOOL, `console.error('here')\n`)],
    good: [],
  },
  'eslint/no-debugger': { bad: at(PRODUCT, 'export function start(): void {\n  debugger\n}\n'), good: [] },
  'eslint/no-warning-comments': {
    bad: at(PRODUCT, '// TODO: finish\nexport {}\n', '/** Works, but FIXME. */\nexport {}\n'),
    good: [],
  },
  'eslint/no-var': { bad: at(TOOL, 'export function start(): number {\n  var n = 1\n  return n\n}\n'), good: [] },
  'eslint/prefer-const': {
    bad: at(PRODUCT, 'export function start(): number {\n  let n = 1\n  return n\n}\n'),
    good: [],
  },
  'eslint/eqeqeq': {
    bad: at(PRODUCT, 'export const same = (a: number, b: number): boolean => a == b\n'),
    good: [],
  },
  'eslint/max-lines': {
    bad: at(PRODUCT, LINES(501)),
    good: at(PRODUCT, LINES(500)),
  },
  'eslint/max-lines-per-function': {
    bad: at(PRODUCT, `export function start(n: number): number {\n${'  n += 1\n'.repeat(70)}  return n\n}\n`),
    good: at(TEST, `export function start(n: number): number {\n${'  n += 1\n'.repeat(70)}  return n\n}\n`),
  },
  'import/no-cycle': {
    bad: [
      { path: 'packages/tlog/src/left.ts', source: `import { right } from './right.ts'\nexport const left = right\n` },
      { path: 'packages/tlog/src/right.ts', source: `import { left } from './left.ts'\nexport const right = left\n` },
    ],
    good: [],
  },
  'import/no-default-export': { bad: at(PRODUCT, 'export default 1\n'), good: [] },
  'unicorn/filename-case': { bad: at('packages/tlog/src/workQueue.ts', 'export {}\n'), good: [] },
  'unicorn/prefer-node-protocol': {
    bad: at(TOOL, `import { sep } from 'path'\nexport const separator = sep\n`),
    good: [],
  },
}

const CAIRN_SAMPLES: Readonly<Record<string, RuleSamples>> = {
  'cairn/no-ambient-time': {
    bad: [
      ...at(
        PRODUCT,
        'export const start = (): unknown => setTimeout(() => {}, 1)\n',
        'export const start = (): unknown => setInterval(() => {}, 1)\n',
        'export const start = (): unknown => setImmediate(() => {})\n',
        'export const stop = (timer: number): void => clearTimeout(timer)\n',
        'export const stop = (timer: number): void => clearInterval(timer)\n',
        'export const later = (): void => queueMicrotask(() => {})\n',
        'export const now = (): number => Date.now()\n',
        `export const now = (): number => Date['now']()\n`,
        'export const now = (): Date => new Date()\n',
        'export const now = (): string => Date()\n',
        'export const now = (): number => performance.now()\n',
        'export const now = (): number => globalThis.performance.now()\n',
        'export function now(): number {\n  const { now: read } = Date\n  return read()\n}\n',
        'export function now(): number {\n  const Calendar = Date\n  return Calendar.now()\n}\n',
      ),
      ...at(SERVICE, 'export const start = (): unknown => setTimeout(() => {}, 1)\n'),
      ...at('node/src/sample.ts', 'export const now = (): number => Date.now()\n'),
      ...at(
        TEST,
        `import { setTimeout } from 'node:timers/promises'\nexport const nap = async (): Promise<void> => await setTimeout(5)\n`,
        `import { performance as p } from 'node:perf_hooks'\nexport const now = (): number => p.now()\n`,
        `import * as timers from 'node:timers'\nexport const nap = (): unknown => timers.setImmediate(() => {})\n`,
      ),
    ],
    good: [
      ...at(
        PRODUCT,
        'export const when = (unixMs: number): Date => new Date(unixMs)\n',
        'export type Handle = ReturnType<typeof setTimeout>\n',
        'export const start = (setTimeout: () => void): void => setTimeout()\n',
        'export const now = (clock: { now(): number; setTimeout(): void }): number => clock.now()\n',
      ),
      ...at(CLOCK, 'export const now = (): number => Date.now() + performance.now()\n'),
      ...at(PLATFORM, 'export const start = (): unknown => setTimeout(() => {}, 1)\n'),
      ...at(TOOL, 'export const now = (): number => performance.now()\n'),
      ...at('verify/simulator/sample.ts', 'export const now = (): number => performance.now()\n'),
      ...at('bench/sample.ts', 'export const now = (): number => performance.now()\n'),
    ],
  },
  'cairn/no-ambient-randomness': {
    bad: [
      ...at(
        PRODUCT,
        'export const draw = (): number => Math.random()\n',
        'export const draw = (): string => crypto.randomUUID()\n',
        'export const draw = (): Uint8Array => globalThis.crypto.getRandomValues(new Uint8Array(8))\n',
      ),
      ...at(TEST, `import { randomBytes } from 'node:crypto'\nexport const draw = (): Uint8Array => randomBytes(8)\n`),
    ],
    good: [
      ...at(PRODUCT, 'export const draw = (random: { next(): number }): number => random.next()\n'),
      ...at(RANDOM, 'export const draw = (): number => Math.random()\n'),
      ...at(PLATFORM, 'export const draw = (): string => crypto.randomUUID()\n'),
    ],
  },
  'cairn/no-race': {
    bad: [
      ...at(
        PRODUCT,
        `${PAUSE}export const first = (): Promise<number> => Promise.race([pause(), pause()])\n`,
        `${PAUSE}export const first = (): Promise<number> => Promise.any([pause(), pause()])\n`,
        `${PAUSE}export function first(): Promise<number> {\n  const { race } = Promise\n  return race.call(Promise, [pause()])\n}\n`,
        'export const either = (signals: AbortSignal[]): AbortSignal => AbortSignal.any(signals)\n',
        'export const soon = (): AbortSignal => AbortSignal.timeout(5)\n',
      ),
      ...at(TEST, `${PAUSE}export const first = (): Promise<number> => Promise.race([pause()])\n`),
      ...at(TOOL, `${PAUSE}export const first = (): Promise<number> => Promise.race([pause()])\n`),
    ],
    good: [
      ...at(PRODUCT, `${PAUSE}export const all = (): Promise<number[]> => Promise.all([pause(), pause()])\n`),
      ...at(PLATFORM, 'export const soon = (): AbortSignal => AbortSignal.timeout(5)\n'),
    ],
  },
  'cairn/no-process-events': {
    bad: [
      ...at(SERVICE, `process.on('SIGTERM', () => {})\n`),
      ...at('node/src/sample.ts', `import process from 'node:process'\nprocess.once('SIGINT', () => {})\n`),
    ],
    good: [
      ...at(PLATFORM, `process.on('SIGTERM', () => {})\n`),
      ...at('node/src/sample.ts', 'export const folder = (): string => process.cwd()\n'),
    ],
  },
  'cairn/no-node-imports': {
    bad: [
      ...at(
        PRODUCT,
        `import { readFile } from 'node:fs/promises'\nexport const read = readFile\n`,
        `import type { Server } from 'node:http'\nexport type Listener = Server\n`,
        `export { readFile } from 'node:fs/promises'\n`,
        `export const load = async (): Promise<unknown> => await import('node:fs')\n`,
        `export type Listener = import('node:http').Server\n`,
      ),
      ...at(SERVICE, `import { readFile } from 'node:fs/promises'\nexport const read = readFile\n`),
      ...at('sdk/src/sample.ts', `import { readFile } from 'node:fs/promises'\nexport const read = readFile\n`),
    ],
    good: [
      'packages/platform/src',
      'packages/http/src',
      'node/src',
      'cli/src',
      'tools/src',
      'bench',
      'verify/model',
      'services/edge/test',
    ]
      .map((folder) => `${folder}/sample.ts`)
      .concat(TEST, 'packages/store/src/sample.prop.ts')
      .flatMap((path) => at(path, `import { readFile } from 'node:fs/promises'\nexport const read = readFile\n`)),
  },
  'cairn/no-node-globals': {
    bad: at(
      KERNEL,
      'export const bytes = (text: string): Uint8Array => Buffer.from(text)\n',
      'export const folder = (): string => process.cwd()\n',
    ),
    good: [
      ...at(KERNEL, 'export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)\n'),
      ...at('packages/kernel/src/sample.test.ts', 'export const folder = (): string => process.cwd()\n'),
    ],
  },
  'cairn/sync-core': {
    bad: at(
      CORE,
      `${PAUSE.replace('Promise<number>', 'number')}export const start = async (): Promise<number> => await pause()\n`,
      'export interface Waiter {\n  readonly done: Promise<void>\n}\n',
      'export const done = (): unknown => Promise.resolve()\n',
    ),
    good: [
      ...at(CORE, 'export const next = (size: number): number => size + 1\n'),
      ...at(PRODUCT, `${PAUSE}export const start = async (): Promise<number> => (await pause()) + 1\n`),
    ],
  },
  'cairn/no-module-state': {
    bad: [
      ...at(
        PRODUCT,
        'let size = 0\nexport const grow = (): number => (size += 1)\n',
        'const seen = new Map<string, number>()\nexport const see = (name: string): unknown => seen.set(name, 1)\n',
        'declare const fill: (map: Map<string, number>) => void\nconst seen = new Map<string, number>()\nexport const see = (): void => fill(seen)\n',
        'const seen: string[] = []\nexport const see = (name: string): number => seen.push(name)\n',
        `const sizes = { small: 1 }\nexport function grow(): void {\n  sizes.small = 2\n}\n`,
        `export const names = new Set(['a'])\n`,
        `export const names = ['a']\n`,
        'const table = new Uint8Array(4)\nexport function fill(): void {\n  table[0] = 1\n}\n',
        'class Registry {}\nexport const registry = new Registry()\n',
        'export class Sample {\n  static count = 0\n}\n',
        'export class Sample {\n  static readonly seen = new Map<string, number>()\n}\n',
      ),
      ...at(SERVICE, 'let size = 0\nexport const grow = (): number => (size += 1)\n'),
    ],
    good: [
      ...at(
        PRODUCT,
        `export const NAMES: ReadonlySet<string> = new Set(['a'])\n`,
        `export const NAMES = ['a', 'b'] as const\n`,
        `export const NAMES: readonly string[] = ['a', 'b']\n`,
        `const SIZES = { small: 1 }\nexport const small = (): number => SIZES.small\n`,
        `const PATTERN = new RegExp('a')\nexport const matches = (text: string): boolean => PATTERN.test(text)\n`,
        'const TABLE = new Uint8Array(4)\nfor (let i = 0; i < 4; i += 1) TABLE[i] = i\nexport const entry = (i: number): number | undefined => TABLE[i]\n',
        'export function sample(): Map<string, number> {\n  const seen = new Map<string, number>()\n  return seen\n}\n',
        'export class Sample {\n  static readonly limit = 5\n  size = 1\n}\n',
      ),
      ...at(TEST, 'let size = 0\nexport const grow = (): number => (size += 1)\n'),
    ],
  },
  'cairn/atomic-update': {
    bad: at(
      PRODUCT,
      CLASS('async add(): Promise<void> {\n    this.total += await pause()\n  }'),
      CLASS('async add(): Promise<void> {\n    this.total = this.total + (await pause())\n  }'),
      CLASS('async add(): Promise<void> {\n    if (this.total === 0) this.total = await pause()\n  }'),
      CLASS(
        'async add(): Promise<void> {\n    const before = this.total\n    await pause()\n    this.total = before + 1\n  }',
      ),
      `${PAUSE}export async function add(sum: { total: number }): Promise<void> {\n  const before = sum.total\n  await pause()\n  sum.total = before + 1\n}\n`,
      `${PAUSE}export async function add(): Promise<number> {\n  let total = 0\n  const step = async (): Promise<void> => {\n    total += await pause()\n  }\n  await Promise.all([step(), step()])\n  return total\n}\n`,
    ),
    good: at(
      PRODUCT,
      CLASS('async add(): Promise<void> {\n    const more = await pause()\n    this.total += more\n  }'),
      CLASS('async add(): Promise<void> {\n    this.total = (await pause()) + this.total\n  }'),
      CLASS('async add(): Promise<void> {\n    this.total = await pause()\n  }'),
      CLASS(
        'async add(): Promise<void> {\n    await pause()\n    const now = this.total\n    this.total = now + 1\n  }',
      ),
      `${PAUSE}export async function add(): Promise<number> {\n  let total = 0\n  total += await pause()\n  return total\n}\n`,
      `${PAUSE}export async function add(): Promise<number> {\n  const sum = { total: 0 }\n  sum.total += await pause()\n  return sum.total\n}\n`,
    ),
  },
  'cairn/check-then-act': {
    bad: at(
      PRODUCT,
      MAP('const before = totals.get(key) ?? 0\n  await pause()\n  totals.set(key, before + 1)'),
      MAP('if (!totals.has(key)) totals.set(key, await pause())'),
      MAP('if (totals.has(key)) return\n  await pause()\n  totals.set(key, 1)'),
      LINE('if (this.line.length >= 2) return\n    await pause()\n    this.line.push(1)'),
      LINE('if (this.line.length < 2) {\n      await pause()\n      this.line.push(1)\n    }'),
      LINE('const isFull = this.line.length >= 2\n    await pause()\n    if (!isFull) this.line.push(1)'),
    ),
    good: at(
      PRODUCT,
      MAP('const more = await pause()\n  totals.set(key, (totals.get(key) ?? 0) + more)'),
      MAP('if (totals.has(key)) return\n  await pause()\n  if (!totals.has(key)) totals.set(key, 1)'),
      MAP('if (totals.has(key)) {\n    await pause()\n    return\n  }\n  totals.set(key, 1)'),
      LINE('await pause()\n    if (this.line.length < 2) this.line.push(1)'),
      LINE('if (this.line.length < 2) this.line.push(1)\n    await pause()'),
      `${PAUSE}export async function collect(): Promise<number[]> {\n  const line: number[] = []\n  while (line.length < 2) line.push(await pause())\n  return line\n}\n`,
    ),
  },
  'cairn/no-double-assertion': {
    bad: at(PRODUCT, 'export const size = (text: string): number => text as unknown as number\n'),
    good: [
      ...at(PRODUCT, `export const small = (n: number): 1 => n as 1\n`),
      ...at(TEST, 'export const size = (text: string): number => text as unknown as number\n'),
    ],
  },
  'cairn/layers': {
    bad: [
      ...at(KERNEL, `import { address } from '@cairn/wire'\nexport const a: unknown = address\n`),
      ...at(PRODUCT, `export { queueState } from '../../kernel/src/channel/queue-core.ts'\n`),
    ],
    good: at(SERVICE, `import { Queue } from '@cairn/kernel'\nexport const make: unknown = Queue\n`),
  },
}

/** Every rule that is turned on by name, with samples it must report and samples it must accept. */
export const LINT_SAMPLES: Readonly<Record<string, RuleSamples>> = {
  ...PROMISE_SAMPLES,
  ...TYPE_SAMPLES,
  ...SHAPE_SAMPLES,
  ...CAIRN_SAMPLES,
}
