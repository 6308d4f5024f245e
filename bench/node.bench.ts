/** A whole node: how soon it answers, and what it takes while nobody asks. The peer of each is what is allowed. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { BenchCase } from './harness.ts'
import { WholeNode } from './node/whole-node.ts'

const MANY_OBJECTS = fileURLToPath(new URL('storage/many-objects.ts', import.meta.url))
const OBJECTS = 100_000
const PORT_BASE = 17_070
/** By then the engine has looked through what the start left behind. */
const SETTLE_MS = 45_000
const IDLE_MS = 3000

let scratch: Promise<string> | undefined
let many: string | undefined
let idle: WholeNode | undefined

/** In the repository, on the same drive as everything else that is measured. */
async function place(): Promise<string> {
  scratch ??= mkdtemp(fileURLToPath(new URL('../node_modules/.cache/bench-node-', import.meta.url)))
  return await scratch
}

/** The very first start also translates TypeScript, and keeps what it took for that; its compile cache serves the others. */
async function readyAfter(data: string): Promise<number> {
  const node = await WholeNode.start(data, PORT_BASE)
  await node.stop()
  return node.readyMs
}

/** With its objects put in before; made once. */
async function manyObjects(): Promise<string> {
  if (many !== undefined) return many
  const data = join(await place(), 'many')
  await readyAfter(data)
  execFileSync(process.execPath, [MANY_OBJECTS, 'build', join(data, 'storage'), String(OBJECTS)], { stdio: 'inherit' })
  many = data
  return data
}

async function idleNode(): Promise<WholeNode> {
  if (idle !== undefined) return idle
  const data = join(await place(), 'idle')
  await readyAfter(data)
  idle = await WholeNode.start(data, PORT_BASE + 100)
  await sleep(SETTLE_MS)
  return idle
}

function allowed(figure: number): Pick<BenchCase, 'peer' | 'peerName' | 'higherIsBetter'> {
  return { peer: async () => await Promise.resolve(figure), peerName: 'what is allowed', higherIsBetter: false }
}

const starts =
  'exec to the first 200 of /readyz on all six ports, timed by another process; all five services in one process, compile cache warm'

const ALL: readonly BenchCase[] = [
  {
    name: 'start/empty',
    unit: 'ms',
    ...allowed(1500),
    limits: `${starts}; a new data directory each time, keys and journals made and synced`,
    ours: async () => await readyAfter(join(await place(), `empty-${performance.now()}`)),
  },
  {
    name: 'start/objects',
    unit: 'ms',
    ...allowed(3000),
    limits: `${starts}; ${OBJECTS} objects in storage`,
    ours: async () => await readyAfter(await manyObjects()),
  },
  {
    name: 'idle/memory',
    unit: 'MiB',
    ...allowed(200),
    limits: 'resident memory of the whole process, no requests, empty data directory, compile cache warm',
    ours: async () => {
      const node = await idleNode()
      await sleep(200)
      return node.memory()
    },
  },
  {
    name: 'idle/processor',
    unit: '% of a core',
    ...allowed(1),
    limits: `time on a processor, all threads, over ${IDLE_MS / 1000} s without requests, ${SETTLE_MS / 1000} s after the start and later`,
    ours: async () => await (await idleNode()).load(IDLE_MS),
  },
]

const isLinux = existsSync('/proc/self/status')
export const CASES: readonly BenchCase[] = isLinux ? ALL : []
export const SKIPPED: ReadonlyMap<string, string> = new Map(
  isLinux ? [] : ALL.map(({ name }) => [name, 'memory and time of another process are read from /proc'] as const),
)

export async function close(): Promise<void> {
  await idle?.stop()
  if (scratch !== undefined) await rm(await scratch, { recursive: true })
}
