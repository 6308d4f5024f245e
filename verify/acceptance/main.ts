/**
 * `npm run acceptance [-- --tree DIR] [--record] [names…]`: the cases whose name contains one of these, all without.
 *
 *     cases/*.ts ─▶ declared ─▶ a few at a time, each in a world of its own ─▶ table, docs/acceptance.md
 *                                  │ real nodes of the tree under test
 *                                  └ killed at the end, also when this process is
 */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, resolve } from 'node:path'
import { after, suite, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { guardRun } from '../../tools/src/run-guard.ts'
import { type AcceptanceCase, declaredCases } from './case.ts'
import { type Colour, differences, readRecord, writeRecord } from './record.ts'
import { type Ground, World } from './world.ts'

/** Cases wait for timers and processes of theirs more than they compute. */
const AT_ONCE = availableParallelism() + 1
const CASES = fileURLToPath(new URL('cases/', import.meta.url))
const OWN_TREE = fileURLToPath(new URL('../../', import.meta.url))

const { values, positionals } = parseArgs({
  options: {
    tree: { type: 'string' },
    record: { type: 'boolean', default: false },
    'at-once': { type: 'string', default: String(AT_ONCE) },
  },
  allowPositionals: true,
})

async function declareAll(): Promise<readonly AcceptanceCase[]> {
  for (const file of readdirSync(CASES)
    .filter((name) => name.endsWith('.ts'))
    .sort())
    await import(pathToFileURL(join(CASES, file)).href)
  return declaredCases()
}

/** Plays one case; what it started is gone when this returns, in time or not. */
async function play(each: AcceptanceCase, ground: Ground): Promise<void> {
  const world = await World.open(ground)
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`It takes longer than ${each.limitMs / 1000} s.`))
    }, each.limitMs)
  })
  const played = each.play(world)
  // One that comes too late is heard no more.
  played.catch(() => {})
  try {
    // oxlint-disable-next-line cairn/no-race -- the loser is ended by the world's end
    await Promise.race([played, late])
  } catch (error) {
    const said = world.outputs()
    throw withOutput(error, said)
  } finally {
    clearTimeout(timer)
    await world[Symbol.asyncDispose]()
  }
}

/** What failed and what the nodes said of it, and nothing twice. */
function withOutput(error: unknown, said: string): Error {
  const told = new Error('The case failed.')
  told.stack = `${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n${said}`
  return told
}

function table(cases: readonly AcceptanceCase[], colours: ReadonlyMap<string, Colour>): string {
  const rows = cases.map(
    ({ name, finding = '' }) => `${(colours.get(name) ?? '').padEnd(5)}  ${finding.padEnd(16)}  ${name}`,
  )
  return `\n${rows.join('\n')}\n`
}

const tree = values.tree === undefined ? OWN_TREE : resolve(values.tree)
const all = await declareAll()
const chosen = all.filter(({ name }) => positionals.length === 0 || positionals.some((part) => name.includes(part)))
assert.ok(chosen.length > 0, 'No case has such a name.')
const guard = guardRun()
const ground: Ground = { tree, directory: guard.directory, environment: guard.environment }
const colours = new Map<string, Colour>()

suite('acceptance', { concurrency: Math.max(1, Number(values['at-once'])) }, () => {
  // The longest first, so that none of them is left alone at the end.
  for (const each of chosen.toSorted((a, b) => b.limitMs - a.limitMs))
    test(each.name, async () => {
      colours.set(each.name, 'red')
      await play(each, ground)
      colours.set(each.name, 'green')
    })
  after(async () => {
    const left = await guard.close()
    process.stdout.write(table(chosen, colours))
    for (const line of left) process.stdout.write(`left behind and killed: ${line}\n`)
    if (values.record) await writeRecord(all, values.tree === undefined ? 'now' : 'old', colours)
    else if (values.tree === undefined)
      for (const line of differences(await readRecord(), colours)) process.stdout.write(`record: ${line}\n`)
    assert.deepEqual(left, [], 'A case left processes behind.')
  })
})
