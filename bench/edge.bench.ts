/** The edge against nginx with one worker, and a crowd at a cold key: the figures its design promises. */
import { fileURLToPath } from 'node:url'
import { Crowd } from './edge/crowd.ts'
import { EdgePlace, TILE_PATH } from './edge/edge-place.ts'
import type { BenchCase } from './harness.ts'
import { Pair } from './paired.ts'
import { duel } from './storage/duel.ts'
import { findProgram, Program } from './storage/programs.ts'

const nginx = findProgram('nginx')
const wrk = findProgram('wrk')
const CONNECTIONS = 16
const CLIENTS = 100
const PACED_SECONDS = 1
const RESTING = 128
const PACED = fileURLToPath(new URL('./edge/paced.lua', import.meta.url))
const PEER = 'nginx, one worker, sendfile, no access log'

let opened: EdgePlace | undefined
let gathered: Promise<Crowd> | undefined

function place(): EdgePlace {
  opened ??= new EdgePlace(nginx ?? '')
  return opened
}

async function crowd(): Promise<Crowd> {
  gathered ??= Crowd.open()
  return await gathered
}

async function node() {
  return await place().node((await crowd()).origin)
}

/** Ends everything the cases started. */
export async function close(): Promise<void> {
  await opened?.[Symbol.asyncDispose]()
  await (await gathered)?.[Symbol.asyncDispose]()
}

/** Where ours and the peer's are, for a warm path. */
async function sides(what: 'asset' | 'tile'): Promise<{ readonly ours: string; readonly peer: string }> {
  const { edge, asset } = await node()
  const path = what === 'asset' ? asset : TILE_PATH
  return { ours: edge + path, peer: (await place().peer()) + path }
}

function warm(name: string, program: string, what: 'asset' | 'tile', limits: string): BenchCase {
  const figures = new Pair(async () => {
    const { ours, peer } = await sides(what)
    return await duel(ours, peer, { program, connections: CONNECTIONS, slices: 6, unit: 'requests' })
  })
  return {
    name,
    unit: 'requests/s',
    higherIsBetter: true,
    peerName: PEER,
    limits: `${CONNECTIONS} connections, wrk, loopback, slices of 150 ms by turns, rate off, one request in a hundred logged, ${limits}`,
    ours: async () => await figures.take('ours'),
    peer: async () => await figures.take('peer'),
  }
}

/** Half of what ours does at most: connections that rest before each request, as many as make up that rate. */
function halfLoad(program: string): BenchCase {
  let restMs: number | undefined
  const paced = async (side: 'ours' | 'peer'): Promise<number> => {
    const urls = await sides('asset')
    if (restMs === undefined) {
      const most = await duel(urls.ours, urls.peer, { program, connections: CONNECTIONS, slices: 4, unit: 'requests' })
      restMs = Math.max(1, Math.round((RESTING * 1000) / (most.ours / 2)))
    }
    const options = ['-t1', `-c${RESTING}`, `-d${PACED_SECONDS}s`, '-s', PACED, urls[side], '--', String(restMs)]
    const text = await new Program(program, options).output()
    const line = text.split('\n').find((each) => each.startsWith('{')) ?? '{}'
    const { ms = Number.NaN, failed = 1 } = JSON.parse(line) as { readonly ms?: number; readonly failed?: number }
    if (failed > 0) throw new Error(`${failed} requests to ${urls[side]} failed.`)
    return ms
  }
  return {
    name: 'half-load-p95',
    unit: 'ms',
    higherIsBetter: false,
    peerName: `${PEER}, at the same rate`,
    limits: `10 KiB, ${RESTING} connections that rest so long that they make up half the rate of asset-10k, wrk; 40 ms are allowed`,
    ours: async () => await paced('ours'),
    peer: async () => await paced('peer'),
  }
}

const COLD: BenchCase = {
  name: 'cold-crowd',
  unit: 'ms',
  higherIsBetter: false,
  peerName: 'the same crowd at the origin itself',
  limits: `${CLIENTS} clients, one new key of 10 KiB a run, from when the first client has all of it until the last does; the origin is asked once, or by everybody; 5 ms more than that are allowed`,
  ours: async () => {
    const { edge } = await node()
    const all = await crowd()
    const ms = await all.run(`${edge}/edge/assets/u/origin`, CLIENTS)
    if (all.asked !== 1) throw new Error(`The origin was asked ${all.asked} times.`)
    return ms
  },
  peer: async () => {
    const all = await crowd()
    return await all.run(all.origin, CLIENTS)
  },
}

const WARM = ['asset-10k', 'tile', 'half-load-p95']
const missing = [nginx === undefined ? 'nginx' : '', wrk === undefined ? 'wrk' : ''].filter((name) => name !== '')

export const CASES: readonly BenchCase[] = [
  ...(wrk === undefined || missing.length > 0
    ? []
    : [
        warm('asset-10k', wrk, 'asset', 'an object of 10 KiB'),
        warm('tile', wrk, 'tile', 'a tile of 10 KiB of a pack, read once and served from memory; a file for nginx'),
        halfLoad(wrk),
      ]),
  COLD,
]

/** Cases that cannot run here, and why. */
export const SKIPPED: ReadonlyMap<string, string> = new Map(
  missing.length === 0
    ? []
    : WARM.map((name) => [name, `tool absent: ${missing.join(', ')}; bench/install-peers installs it`]),
)
