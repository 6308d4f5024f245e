/** The registry against a bare append and fdatasync, bare node:http and a bare event stream: what its design promises. */
import { mkdirSync, mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { BenchCase } from './harness.ts'
import { findProgram, Program } from './storage/programs.ts'
import { type StorageNode, startServices } from './storage/servers.ts'

const CLIENTS = 64
/** Versions in one run: a third of its entries. */
const VERSIONS = 192
const COMMITS = 40
const BARE_ENTRIES = 200
/** About what a proposal, an approval and a commit have on the average, their records included. */
const ENTRY_BYTES = 768
const SUBSCRIBERS = 1000
const STREAMED = 3
const STALLED = 8
const CONNECTIONS = 32

/** Among the dependencies: on the drive the repository is on. `/tmp` may be memory. */
const CACHE = fileURLToPath(new URL('../node_modules/.cache/', import.meta.url))

class Bench {
  readonly directory: string
  #node: Promise<StorageNode> | undefined
  #bare: Promise<{ readonly url: string; readonly program: Program }> | undefined

  constructor() {
    mkdirSync(CACHE, { recursive: true })
    this.directory = mkdtempSync(join(CACHE, 'registry-bench-'))
  }

  async node(): Promise<StorageNode> {
    const toml = '[registry.ingress]\nmax_streams = 2048\n'
    this.#node ??= startServices(this.directory, ['storage', 'registry'], toml)
    return await this.#node
  }

  /** What every script of the load is given. */
  async target(): Promise<readonly string[]> {
    const { url, token } = await this.node()
    return [url, token, join(this.directory, 'data/registry/signer.key')]
  }

  async bare(): Promise<string> {
    this.#bare ??= this.#startBare()
    return (await this.#bare).url
  }

  async #startBare() {
    const { url } = await this.node()
    const body = await (await fetch(`${url}/registry/head`)).text()
    const program = Program.node(new URL('./registry/bare-server.ts', import.meta.url), [body])
    return { url: await program.firstLine(), program }
  }

  /** Ends the node; gives where its log lies. */
  async log(): Promise<string> {
    await (await this.#node)?.[Symbol.asyncDispose]()
    this.#node = undefined
    return join(this.directory, 'data/registry')
  }

  async close(): Promise<void> {
    await this.log()
    await (await this.#bare)?.program.stop()
    await rm(this.directory, { recursive: true, force: true })
  }
}

let bench: Bench | undefined

function place(): Bench {
  bench ??= new Bench()
  return bench
}

/** Ends everything the cases started. */
export async function close(): Promise<void> {
  await bench?.close()
}

const COMMIT_LOAD = new URL('./registry/commit-load.ts', import.meta.url)
const STREAM_LOAD = new URL('./registry/stream-load.ts', import.meta.url)
const BARE_APPEND = new URL('./registry/bare-append.ts', import.meta.url)
const REPLAYING = new URL('./registry/replay.ts', import.meta.url)

async function figureOf(script: URL, options: readonly (string | number)[]): Promise<number> {
  return Number(await Program.node(script, options.map(String)).output())
}

async function bareAppends(): Promise<number> {
  return await figureOf(BARE_APPEND, [join(place().directory, 'bare'), ENTRY_BYTES, BARE_ENTRIES])
}

const BARE = `append of ${ENTRY_BYTES} bytes, fdatasync, again`
const SAME = 'over HTTP, the client a process of its own, 1 of 1 signers, same file system, two syncs a batch'

const ENTRIES: BenchCase = {
  name: 'write/entries',
  unit: 'entries/s',
  higherIsBetter: true,
  peerName: BARE,
  limits: `${CLIENTS} clients, each proposes, approves and commits in turn, ${VERSIONS} versions a run; ${SAME}`,
  ours: async () => await figureOf(COMMIT_LOAD, [...(await place().target()), 'all', CLIENTS, VERSIONS]),
  peer: bareAppends,
}

async function commits(stalled: number): Promise<number> {
  return await figureOf(COMMIT_LOAD, [...(await place().target()), 'commits', stalled, COMMITS])
}

const COMMIT: BenchCase = {
  name: 'write/commit',
  unit: 'commits/s',
  higherIsBetter: true,
  peerName: BARE,
  limits: `one client, ${COMMITS} approved proposals a run, one after the other; ${SAME}`,
  ours: async () => await commits(0),
  peer: bareAppends,
}

const STALL: BenchCase = {
  name: 'write/commit-stalled',
  unit: 'commits/s',
  higherIsBetter: true,
  peerName: 'the same without them',
  limits: `${STALLED} subscribers that never read, ${COMMITS} commits a run; what is left of the ratio is writing to them`,
  ours: async () => await commits(STALLED),
  peer: async () => await commits(0),
}

const STREAM: BenchCase = {
  name: 'read/stream',
  unit: 'ms',
  higherIsBetter: false,
  peerName: 'bare node:http that writes the same frame to all, without a log',
  limits: `${SUBSCRIBERS} subscribers in one process, 95th percentile from the question for the commit, ${STREAMED} commits a run; 200 ms are allowed`,
  ours: async () => await figureOf(STREAM_LOAD, [...(await place().target()), SUBSCRIBERS, STREAMED]),
  peer: async () => await figureOf(STREAM_LOAD, [await place().bare(), '-', '-', SUBSCRIBERS, STREAMED]),
}

const REPLAY: BenchCase = {
  name: 'write/replay',
  unit: 'entries/s',
  higherIsBetter: true,
  peerName: 'the same files read and hashed',
  limits: 'the log the other cases have left, as a start reads it; page cache warm',
  ours: async () => await figureOf(REPLAYING, [await place().log(), 'log']),
  peer: async () => await figureOf(REPLAYING, [await place().log(), 'bare']),
}

const wrk = findProgram('wrk')

async function requestsPerSecond(program: string, url: string): Promise<number> {
  const options = ['-t1', `-c${CONNECTIONS}`, '-d1s', `${url}/registry/head`]
  const said = /Requests\/sec:\s+([\d.]+)/.exec(await new Program(program, options).output())?.[1]
  return Number(said)
}

function head(program: string): BenchCase {
  return {
    name: 'read/head',
    unit: 'requests/s',
    higherIsBetter: true,
    peerName: 'bare node:http with the same bytes',
    limits: `${CONNECTIONS} connections, wrk, loopback, a second each, rate off, one request in a hundred logged`,
    ours: async () => await requestsPerSecond(program, (await place().node()).url),
    peer: async () => await requestsPerSecond(program, await place().bare()),
  }
}

/** The last one ends the node and reads what it has written. */
export const CASES: readonly BenchCase[] = [
  ...(wrk === undefined ? [] : [head(wrk)]),
  STREAM,
  ENTRIES,
  COMMIT,
  STALL,
  REPLAY,
]

/** Cases that cannot run here, and why. */
export const SKIPPED: ReadonlyMap<string, string> = new Map(
  wrk === undefined ? [['read/head', 'tool absent: wrk; bench/install-peers installs it']] : [],
)
