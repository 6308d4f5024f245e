/**
 * Clients that ask for things which change, through an upstream that fails in every way it can, while the machine
 * loses power again and again.
 *
 *     life 1: load ── crash at a random call ──▶ life 2: what is stored is whole; load ── crash ──▶ …
 *
 * Every body says which key and version it is: no answer mixes two, none is of another key, and its tag is its own. Whoever
 * asks after a change was acknowledged never gets what was there before it, whatever was lost in between.
 */
import assert from 'node:assert/strict'
import { type Random } from '@cairn/kernel'
import { SeededRandom } from '@cairn/kernel/testing'
import { type Answer } from '../../../verify/virtual/answer.ts'
import { workOrDown } from '../../../verify/virtual/lives.ts'
import { noise } from '../../../verify/virtual/noise.ts'
import { type SimulationReport, simulate } from '../../../verify/virtual/simulate.ts'
import type { Piece, Upstream } from './fake-upstream.ts'
import { LIVE, TestEdge } from './harness.ts'

const CLIENTS = 4
const KEYS = 3

export interface SimulationOptions {
  readonly operations: number
  /** How often an upstream fails, 0 to 1. */
  readonly failureRate: number
  readonly lives: number
}

function bodyOf(key: number, version: number): Buffer {
  return noise([900, 70_000, 150_000][key % 3]!, key * 1000 + version)
}

/** What is at the upstream, and how it behaves today. */
function upstreamOf(versions: number[], random: Random, failureRate: number): Upstream {
  return ({ url, headers, method }) => {
    const key = Number(url.pathname.split('/').at(-1))
    if (method === 'PUT') {
      versions[key] = (versions[key] ?? 0) + 1
      return { status: 204 }
    }
    const version = versions[key] ?? 0
    const etag = `"${key}-${version}"`
    const afterMs = 1 + random.next() * 30
    const dice = random.next() / Math.max(failureRate, 1e-9)
    if (dice < 0.2) return { fails: 'reset' }
    if (dice < 0.3) return { fails: 'unreachable' }
    if (dice < 0.4) return { status: 503, afterMs }
    const caching = { 'cache-control': `max-age=${Math.floor(random.next() * 3)}, stale-while-revalidate=1`, etag }
    if (headers['if-none-match'] === etag) return { status: 304, headers: caching, afterMs }
    const body = bodyOf(key, version)
    const cut = Math.floor(random.next() * body.length)
    const pieces: Piece[] = [body.subarray(0, cut), random.next() * 20, body.subarray(cut)]
    if (dice < 0.6) pieces.splice(1, 2, 'reset')
    if (dice >= 0.6 && dice < 0.7) return { headers: { ...caching, etag: 'broken' }, body: pieces, afterMs }
    if (dice >= 0.7 && dice < 0.8) return { headers: { etag, 'cache-control': 'no-store' }, body: pieces, afterMs }
    return { headers: { ...caching, 'content-length': String(body.length) }, body: pieces, afterMs }
  }
}

export async function simulateEdge(seed: number, options: SimulationOptions): Promise<SimulationReport> {
  return await simulate(seed, async (world) => {
    const machine = world.machine('node')
    const random = new SeededRandom(world.nextSeed())
    const versions = Array.from({ length: KEYS }, () => 0)
    const origin: Origin = { versions, acknowledged: versions.map(() => 0) }
    const config = {
      ...LIVE,
      cas_max_bytes: '1MiB',
      routes: { up: { upstream: 'https://up.example/', pass_methods: ['PUT' as const] } },
    }
    for (let life = 1; life <= options.lives; life += 1) {
      const upstream = upstreamOf(versions, new SeededRandom(world.nextSeed()), options.failureRate)
      const edge = await TestEdge.open({ config, upstream }, world, machine)
      const isLast = life === options.lives
      if (!isLast) machine.crashAfter(30 + Math.floor(random.next() * 400))
      const clients = Array.from({ length: CLIENTS }, async () => {
        await work(edge, origin, new SeededRandom(Math.floor(random.next() * 2 ** 32)), options.operations)
      })
      await workOrDown(world, machine, clients)
      if (!isLast) {
        machine.crash()
        continue
      }
      await world.sleep(3000)
      assert.equal(edge.parts.fills.flying, 0)
      await edge.shutDown()
    }
  })
}

/** By key. */
interface Origin {
  readonly versions: readonly number[]
  /** Clients were told that there is at least this one. */
  readonly acknowledged: number[]
}

async function work(edge: TestEdge, origin: Origin, random: Random, count: number): Promise<void> {
  for (let at = 0; at < count; at += 1) {
    const key = Math.floor(random.next() * KEYS)
    const target = `/edge/assets/u/up/${key}`
    const dice = random.next()
    if (dice < 0.1) await change(edge, origin, key, target)
    else if (dice < 0.2) await leave(edge, target, random)
    else {
      const headers = conditionsOf(key, random)
      const method = random.next() < 0.1 ? 'HEAD' : 'GET'
      const atLeast = origin.acknowledged[key] ?? 0
      judge({ key, atLeast, method, headers }, await edge.send(method, target, { headers }))
    }
    await edge.world.sleep(random.next() * 300)
  }
}

async function change(edge: TestEdge, { versions, acknowledged }: Origin, key: number, target: string): Promise<void> {
  const next = (versions[key] ?? 0) + 1
  const { status } = await edge.send('PUT', target)
  if (status === 204) acknowledged[key] = Math.max(acknowledged[key] ?? 0, next)
}

type Conditions = Readonly<Record<string, string>>

/** Any part of it, if it is still, or no longer, some version it may have had. */
function conditionsOf(key: number, random: Random): Conditions {
  const tag = `"${key}-${Math.floor(random.next() * 4)}"`
  const at = (): number => Math.floor(random.next() * 1000)
  const from = at()
  const dice = random.next()
  if (dice < 0.4) return {}
  if (dice < 0.55) return { 'if-none-match': tag }
  const range = dice < 0.7 ? `bytes=${from}-${from + at()}` : dice < 0.8 ? `bytes=${from}-` : `bytes=-${from + 1}`
  return random.next() < 0.4 ? { range, 'if-range': tag } : { range }
}

async function leave(edge: TestEdge, target: string, random: Random): Promise<void> {
  const leaving = new AbortController()
  const asked = edge.send('GET', target, { signal: leaving.signal })
  await edge.world.sleep(random.next() * 40)
  leaving.abort()
  await asked
}

const REFUSED = [429, 499, 502, 503, 504]

interface Question {
  readonly key: number
  readonly atLeast: number
  readonly method: string
  readonly headers: Conditions
}

/**
 * The tag of an answer says which bytes it is of; what was asked for says which part of them, or none. More than was asked
 * for is no lie: what is not kept goes through as it comes.
 */
function judge({ key, atLeast, method, headers: asked }: Question, { status, headers, body, broken }: Answer): void {
  if (broken !== undefined || REFUSED.includes(status)) return
  const message = `${method} ${JSON.stringify(asked)} was answered ${status}`
  if (status === 416) return assert.ok(asked['range'] !== undefined && key === 0, message)
  const version = versionOf(key, headers['etag'])
  assert.ok(version >= atLeast, `${message} with version ${version}, and ${atLeast} had been acknowledged`)
  const whole = bodyOf(key, version)
  const range = asked['if-range'] === undefined || asked['if-range'] === headers['etag'] ? asked['range'] : undefined
  if (status === 304) assert.equal(headers['etag'], asked['if-none-match'], message)
  if (status === 206) assert.ok(range !== undefined, message)
  const part =
    status === 304 || method === 'HEAD' ? Buffer.alloc(0) : status === 206 ? partOf(whole, range ?? '') : whole
  assert.ok(body.equals(part), `${message}: these are not the bytes of ${headers['etag']}`)
  assert.ok([200, 206, 304].includes(status), message)
}

function versionOf(key: number, etag = ''): number {
  const tag = /^"(\d+)-(\d+)"$/.exec(etag)
  assert.ok(tag, `the tag is ${etag}`)
  assert.equal(Number(tag[1]), key, 'the answer is of another key')
  return Number(tag[2])
}

function partOf(whole: Buffer, range: string): Buffer {
  const [, from = '', to = ''] = /^bytes=(\d*)-(\d*)$/.exec(range) ?? []
  return from === ''
    ? whole.subarray(-Number(to))
    : whole.subarray(Number(from), to === '' ? undefined : Number(to) + 1)
}
