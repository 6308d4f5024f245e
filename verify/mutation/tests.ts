/**
 * Stands in for `node:test` in a process that runs the same tests many times: collects them while their files are
 * imported, and runs one whenever it is asked for. It offers what the tests of our packages use, no more.
 */

type Body = (context: Context) => unknown

interface Context {
  diagnostic(message: string): void
  skip(reason?: string): void
}

interface Hooks {
  readonly before: Body[]
  readonly after: Body[]
}

interface Collected {
  readonly body: Body
  /** Of the file and of every suite around the test, outermost first. */
  readonly hooks: readonly Hooks[]
}

/** What tests say about themselves is for people who read along. */
const NO_CONTEXT: Context = { diagnostic() {}, skip() {} }

const collected = new Map<string, Collected>()
let path: readonly string[] = []
let hooks: readonly Hooks[] = []

/** Imports a file of tests and gives their names, in their order. */
export async function collect(file: string, url: string): Promise<string[]> {
  const before = new Set(collected.keys())
  path = [file]
  hooks = [{ before: [], after: [] }]
  await import(url)
  return [...collected.keys()].filter((name) => !before.has(name))
}

export function describe(name: string, ...rest: readonly unknown[]): void {
  const body = bodyIn(rest)
  const [outerPath, outerHooks] = [path, hooks]
  path = [...path, name]
  hooks = [...hooks, { before: [], after: [] }]
  body?.(NO_CONTEXT)
  path = outerPath
  hooks = outerHooks
}

export function test(name: string, ...rest: readonly unknown[]): void {
  const body = bodyIn(rest)
  let key = [...path, name].join(' › ')
  while (collected.has(key)) key += ' again'
  if (body !== undefined) collected.set(key, { body, hooks })
}

/** The function among the arguments, unless the options before it say that it is to be skipped. */
function bodyIn(rest: readonly unknown[]): Body | undefined {
  const [first] = rest
  if (typeof first === 'object' && first !== null && Boolean(Reflect.get(first, 'skip'))) return undefined
  return rest.find((value): value is Body => typeof value === 'function')
}

export function beforeEach(body: Body): void {
  hooks.at(-1)?.before.push(body)
}

export function afterEach(body: Body): void {
  hooks.at(-1)?.after.push(body)
}

/** Runs one test with its hooks; throws what it throws. */
export async function runTest(key: string): Promise<void> {
  const found = collected.get(key)
  if (found === undefined) throw new Error(`There is no test ${key}.`)
  for (const { before } of found.hooks) for (const hook of before) await hook(NO_CONTEXT)
  try {
    await found.body(NO_CONTEXT)
  } finally {
    for (const { after } of found.hooks.toReversed()) for (const hook of after) await hook(NO_CONTEXT)
  }
}
