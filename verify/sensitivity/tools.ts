/**
 * The tools, in the order in which they are tried, and which of them can see a plant at all: those that run the code
 * it is in. Each is a process of its own in the tree, and is ended when its time is over.
 */
import { spawn } from 'node:child_process'
import { dirname, join } from 'node:path'
import type { ModelGroup } from './explore.ts'
import type { Simulator } from './simulate.ts'

export type Tool = 'models' | 'simulators' | 'cluster' | 'campaigns' | 'tests'

export const TOOLS: readonly Tool[] = ['models', 'simulators', 'cluster', 'campaigns', 'tests']

export interface Reach {
  readonly models: readonly ModelGroup[]
  readonly simulators: readonly Simulator[]
  /** Whether whole nodes run the code. */
  readonly cluster: readonly 'cluster'[]
  /** Test files of `verify/`. */
  readonly campaigns: readonly string[]
  /** Folders whose tests stand beside the code. */
  readonly tests: readonly string[]
}

const EVERY: readonly Simulator[] = ['storage', 'interop']
const CHAOS = 'verify/chaos'
const LYING = [`${CHAOS}/index/lying-registry.test.ts`, `${CHAOS}/index/follow-registry.test.ts`]
const TAMPER = [`${CHAOS}/registry/tamper.test.ts`, 'verify/linear/registry.test.ts']
const OVER_SOCKETS = [`${CHAOS}/interop/real-sockets.test.ts`, `${CHAOS}/edge/providers.test.ts`]

/** By the folder the plant is in. */
const REACH: Readonly<Record<string, Omit<Reach, 'cluster'>>> = {
  'packages/kernel': { models: ['kernel'], simulators: EVERY, campaigns: [], tests: ['packages/kernel'] },
  'packages/store': {
    models: ['store'],
    simulators: ['storage', 'drives', 'shards', 'registry', 'interop'],
    campaigns: [`${CHAOS}/power-cut.test.ts`, `${CHAOS}/disk-faults.test.ts`],
    tests: ['packages/store'],
  },
  'packages/wire': { models: [], simulators: EVERY, campaigns: [], tests: ['packages/wire'] },
  'packages/platform': { models: [], simulators: EVERY, campaigns: [], tests: ['packages/platform'] },
  'packages/http': { models: [], simulators: EVERY, campaigns: [], tests: ['packages/http'] },
  'packages/transport': { models: [], simulators: EVERY, campaigns: [], tests: ['packages/transport'] },
  'packages/clients': { models: [], simulators: ['nodes'], campaigns: OVER_SOCKETS, tests: ['packages/clients'] },
  'packages/routing': {
    models: [],
    simulators: ['index'],
    campaigns: [`${CHAOS}/routing/dishonest-peers.test.ts`],
    tests: ['packages/routing'],
  },
  'packages/mailbox': {
    models: ['mailbox'],
    simulators: ['interop'],
    campaigns: [`${CHAOS}/interop/power-cut.test.ts`],
    tests: ['packages/mailbox'],
  },
  'packages/names': {
    models: ['registry'],
    simulators: ['registry'],
    campaigns: [...TAMPER, ...LYING],
    tests: ['packages/names'],
  },
  'packages/tlog': {
    models: [],
    simulators: ['registry'],
    campaigns: [...TAMPER, ...LYING],
    tests: ['packages/tlog', 'packages/names'],
  },
  'packages/packs': {
    models: [],
    simulators: [],
    campaigns: [`${CHAOS}/edge/pack-files.test.ts`],
    tests: ['packages/packs'],
  },
  sdk: { models: [], simulators: [], campaigns: [], tests: ['sdk'] },
  'services/registry': {
    models: ['registry'],
    simulators: ['registry'],
    campaigns: [`${CHAOS}/registry/power-cut.test.ts`, ...TAMPER],
    // The rest of them, and of storage's, takes longer than a tool has here.
    tests: [
      'services/registry/src',
      ...['commits', 'approvals', 'retention', 'shutdown'].map((name) => `services/registry/test/${name}.test.ts`),
    ],
  },
  'services/index': { models: ['index'], simulators: ['index'], campaigns: LYING, tests: ['services/index'] },
  'services/edge': {
    models: ['edge'],
    simulators: ['edge'],
    campaigns: [`${CHAOS}/edge/providers.test.ts`, `${CHAOS}/edge/website.test.ts`],
    tests: ['services/edge'],
  },
  'services/interop': {
    models: ['interop'],
    simulators: ['interop'],
    campaigns: [`${CHAOS}/interop/power-cut.test.ts`, `${CHAOS}/interop/real-sockets.test.ts`],
    tests: ['services/interop'],
  },
  'services/storage': {
    models: ['storage'],
    simulators: ['storage', 'drives', 'nodes', 'shards'],
    campaigns: [`${CHAOS}/erasure/two-generations.test.ts`, `${CHAOS}/durability/corrupt-peer.test.ts`],
    tests: [
      'services/storage/src',
      ...['replication', 'rejoin', 'uploads', 'erasure'].map((name) => `services/storage/test/${name}.test.ts`),
    ],
  },
}

/** Of the simulators of storage, those that run the folder more than in passing. */
const STORAGE_SIMULATORS: readonly (readonly [folder: string, simulators: readonly Simulator[]])[] = [
  ['services/storage/src/placement/', ['drives', 'nodes']],
  ['services/storage/src/targets/', ['drives', 'nodes']],
  ['services/storage/src/repair/', ['drives', 'nodes']],
  ['services/storage/src/tasks/', ['drives', 'nodes']],
  ['services/storage/src/erasure/', ['shards']],
  ['services/storage/src/objects/', ['storage']],
]

/** Of what a model group is about, the files that it runs; of the rest it has an imitation, or nothing. */
const MODELLED: readonly RegExp[] = [
  /^packages\/kernel\/src\/.*(?:-core|waiters|ring|owned)\.ts$/,
  /^packages\/store\/src\/.*(?:presence|lease|pins|compaction)-core\.ts$/,
  /^packages\/mailbox\/src\/mailbox-core\.ts$/,
  /^services\/registry\/src\/domain\/(?:decide-core|ledger)\.ts$/,
  /^services\/index\/src\/domain\/(?:hedged-lookup|cache)-core\.ts$/,
  /^services\/edge\/src\/.*(?:flights|entry-table)-core\.ts$/,
  /^services\/interop\/src\/domain\/(?:replay-keys|audit-chain)\.ts$/,
  /^services\/storage\/src\/repair\/(?:repair|sliding-window)-core\.ts$/,
]

export function reachOf(file: string): Reach {
  const found = Object.entries(REACH).find(([folder]) => file.startsWith(`${folder}/`))
  if (found === undefined) throw new Error(`No tool is named for ${file}.`)
  const [, whole] = found
  const narrowed = STORAGE_SIMULATORS.find(([folder]) => file.startsWith(folder))?.[1]
  const reach = narrowed === undefined ? whole : { ...whole, simulators: narrowed }
  // A package of many folders is tested folder by folder; a service as a whole.
  const tests = /^packages\/(platform|http)\//.test(file) ? [dirname(file)] : reach.tests
  const cluster = whole.simulators.length === 0 ? [] : (['cluster'] as const)
  return { ...reach, tests, cluster, models: MODELLED.some((pattern) => pattern.test(file)) ? reach.models : [] }
}

/**
 * What a tool said. `found` with what it complained of; `missed` if it was content; `late` if it did not end in its
 * time, which is a find where it otherwise does; `unreached` if it runs none of the code.
 */
export type Verdict =
  | { readonly tag: 'unreached' }
  | { readonly tag: 'missed'; readonly seconds: number; readonly seeds?: number }
  | { readonly tag: 'found' | 'late'; readonly seconds: number; readonly seeds?: number; readonly says: string }

/** What a simulator may take, and every other tool. */
export const SEED_BOUNDS = { seedsMax: 200, secondsMax: 15 }
export const CLUSTER_BOUNDS = { seedsMax: 100, secondsMax: 60 }
const SECONDS_MAX: Readonly<Record<Tool, number>> = {
  models: 60,
  simulators: SEED_BOUNDS.secondsMax,
  cluster: CLUSTER_BOUNDS.secondsMax,
  campaigns: 45,
  tests: 90,
}
/** A simulator that stands on one seed for so long after its time is over hangs. */
const GRACE_SECONDS = 25

/** Runs one tool in the tree that has the plant. */
export async function runTool(tool: Tool, reach: Reach, root: string): Promise<Verdict> {
  const words = reach[tool]
  if (words.length === 0) return { tag: 'unreached' }
  const main = join(root, 'verify/sensitivity/main.ts')
  const beganAt = performance.now()
  const command =
    tool === 'models' || tool === 'simulators' || tool === 'cluster'
      ? [main, `in-${tool}`, ...words]
      : ['--expose-gc', join(root, 'tools/src/test.ts'), ...words]
  const isSeeded = tool === 'simulators' || tool === 'cluster'
  const budget = SECONDS_MAX[tool] + (isSeeded ? GRACE_SECONDS : 0)
  const { code, output } = await run(command, root, budget)
  const seconds = Math.round((performance.now() - beganAt) / 100) / 10
  const seeds = isSeeded ? { seeds: lastSeed(output) } : {}
  if (code === 0) return { tag: 'missed', seconds, ...seeds }
  if (code === 'late')
    return { tag: 'late', seconds, ...seeds, says: `${isSeeded ? lastLine(output) : 'It'} does not end.` }
  return { tag: 'found', seconds, ...seeds, says: complaintIn(output) }
}

async function run(
  words: readonly string[],
  cwd: string,
  secondsMax: number,
): Promise<{ readonly code: number | 'late'; readonly output: string }> {
  const env = { ...process.env, NODE_COMPILE_CACHE: join(cwd, 'node_modules/.cache/compile') }
  const child = spawn(process.execPath, [...words], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  const pieces: Buffer[] = []
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (bytes: Buffer) => {
      pieces.push(bytes)
    })
  const closed = Promise.withResolvers<number | 'late'>()
  const timer = setTimeout(() => {
    closed.resolve('late')
    // Its children go with it: a campaign starts nodes.
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
  }, 1000 * secondsMax)
  child.once('close', (status) => {
    closed.resolve(status ?? 1)
  })
  const code = await closed.promise
  clearTimeout(timer)
  return { code, output: Buffer.concat(pieces).toString() }
}

function lastSeed(output: string): number {
  return Number([...output.matchAll(/ seed (\d+)/g)].at(-1)?.[1] ?? 0)
}

function lastLine(output: string): string {
  return output.trimEnd().split('\n').at(-1) ?? ''
}

/** What was wrong, in one line: what one of our own children says it found, or the first test that failed, and why. */
function complaintIn(output: string): string {
  const own = /^found: (.*)$/m.exec(output)?.[1]
  if (own !== undefined) return own
  const failed =
    output
      .split('\nFailed:\n')[1]
      ?.split('\n')
      .map((line) => line.trim()) ?? []
  const [place = '', why = ''] = failed.filter((line) => line !== '')
  if (place !== '') return `${place.replace(/^\S+:\d+ /, '')}: ${why}`
  return (
    output
      .trim()
      .split('\n')
      .find((line) => /error/i.test(line))
      ?.trim() ?? 'it stopped'
  )
}
