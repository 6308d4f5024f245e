/** The index: cached answers beside bare node:http, lookups with a dead and a slow peer, and how exact its budget is. */
import { mkdirSync, mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { BenchCase } from './harness.ts'
import { findProgram, Program } from './storage/programs.ts'
import { type StorageNode, startServices } from './storage/servers.ts'

const CONNECTIONS = 32
const CLIENTS = 8
const LOOKUPS = 96
const HEDGE_MS = 150
const SLACK_MS = 50
const PEERS = ['dead', 'slow', 'fast-1', 'fast-2', 'fast-3']

/** Among the dependencies: on the drive the repository is on. `/tmp` may be memory. */
const CACHE = fileURLToPath(new URL('../node_modules/.cache/', import.meta.url))

interface Place {
  readonly node: StorageNode
  /** Where the five peers are. */
  readonly peers: string
  /** A server with nothing but the body of a cached answer. */
  readonly bare: string
  /** A name that is cached whenever it is asked for. */
  readonly path: string
  close(): Promise<void>
}

let opened: Promise<Place> | undefined

async function place(): Promise<Place> {
  opened ??= open()
  return await opened
}

async function open(): Promise<Place> {
  mkdirSync(CACHE, { recursive: true })
  const directory = mkdtempSync(join(CACHE, 'index-bench-'))
  const peers = Program.node(new URL('./index/peers.ts', import.meta.url), [])
  const base = await peers.firstLine()
  const endpoints = PEERS.map((name) => `${base}/${name}`)
  const toml = [
    '[index.dht]',
    'allow_loopback = true',
    `endpoints = ${JSON.stringify(endpoints)}`,
    // Silence is what is measured here; nobody is left alone for it.
    '[index.breaker]',
    'trip_threshold = 1.0',
    '',
  ].join('\n')
  const node = await startServices(directory, ['storage', 'index'], toml)
  const path = '/resolve/name:bench@1'
  await nameAt(node)
  const body = await (await fetch(`${node.url}${path}`)).text()
  const bare = Program.node(new URL('./registry/bare-server.ts', import.meta.url), [body])
  return {
    node,
    peers: base,
    bare: await bare.firstLine(),
    path,
    close: async () => {
      await node[Symbol.asyncDispose]()
      await Promise.all([peers.stop(), bare.stop()])
      await rm(directory, { recursive: true, force: true })
    },
  }
}

async function nameAt({ url, token }: StorageNode): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ manifest_cid: `b3:${'5'.repeat(64)}` })
  const answer = await fetch(`${url}/admin/names/bench@1`, { method: 'PUT', headers, body })
  if (answer.status !== 200) throw new Error(`The index answered ${answer.status} to a name.`)
}

/** Ends everything the cases started. */
export async function close(): Promise<void> {
  await (await opened)?.close()
}

const LOAD = new URL('./index/lookup-load.ts', import.meta.url)

async function figureOf(...options: readonly (string | number)[]): Promise<number> {
  return Number(await Program.node(LOAD, options.map(String)).output())
}

const LOOKUP: BenchCase = {
  name: 'lookup/bad-peers',
  unit: 'ms',
  higherIsBetter: false,
  peerName: `what is allowed: ${HEDGE_MS} ms, ${SLACK_MS} ms and the fast peer's own p99, asked directly`,
  limits: `p99 of ${LOOKUPS} lookups of new addresses, ${CLIENTS} at once; of five peers one never answers, one takes a second, three take 20 ms; the two bad ones are asked first; 100 ms of gathering included`,
  ours: async () => await figureOf((await place()).node.url, 'providers', CLIENTS, LOOKUPS),
  peer: async () => {
    const { peers } = await place()
    return HEDGE_MS + SLACK_MS + (await figureOf(`${peers}/fast-1`, 'routing', CLIENTS, LOOKUPS))
  },
}

const DEADLINE: BenchCase = {
  name: 'lookup/deadline',
  unit: 'ms from 1200 ms',
  higherIsBetter: false,
  peerName: 'what is allowed',
  limits: `the furthest of ${CLIENTS} lookups at once that no peer answers; the index ends each after its budget of 1200 ms`,
  ours: async () => await figureOf((await place()).node.url, 'deadline', CLIENTS, CLIENTS),
  peer: async () => await Promise.resolve(SLACK_MS),
}

const wrk = findProgram('wrk')

async function requestsPerSecond(program: string, url: string): Promise<number> {
  const options = ['-t1', `-c${CONNECTIONS}`, '-d1s', url]
  const output = await new Program(program, options).output()
  if (/Non-2xx/.test(output)) throw new Error(`Not every answer was a good one: ${output}`)
  return Number(/Requests\/sec:\s+([\d.]+)/.exec(output)?.[1])
}

function warm(program: string): BenchCase {
  return {
    name: 'resolve/warm',
    unit: 'requests/s',
    higherIsBetter: true,
    peerName: 'bare node:http with the same bytes',
    limits: `one name, cached, ${CONNECTIONS} connections, wrk, loopback, a second each, rate off, one request in a hundred logged`,
    ours: async () => {
      const { node, path } = await place()
      return await requestsPerSecond(program, `${node.url}${path}`)
    },
    peer: async () => {
      const { bare, path } = await place()
      return await requestsPerSecond(program, `${bare}${path}`)
    },
  }
}

export const CASES: readonly BenchCase[] = [...(wrk === undefined ? [] : [warm(wrk)]), LOOKUP, DEADLINE]

/** Cases that cannot run here, and why. */
export const SKIPPED: ReadonlyMap<string, string> = new Map(
  wrk === undefined ? [['resolve/warm', 'tool absent: wrk; bench/install-peers installs it']] : [],
)
