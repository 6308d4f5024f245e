/** Storage against nginx, a bare loop of writes, a Map and the native hash: the figures its design promises. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { addressOf, blake3, chainingValue } from '@cairn/wire'
import { type BenchCase, perSecond } from './harness.ts'
import { Pair } from './paired.ts'
import { duel } from './storage/duel.ts'
import { findProgram, Program } from './storage/programs.ts'
import { startNode } from './storage/servers.ts'
import { StampedBytes } from './storage/stamped.ts'
import { Workplace } from './storage/workplace.ts'

const KIB = 1024
const MIB = 1024 * KIB

const nginx = findProgram('nginx')
const wrk = findProgram('wrk')
let workplace: Workplace | undefined

function place(): Workplace {
  workplace ??= new Workplace(nginx ?? '')
  return workplace
}

/** Ends everything the cases started. */
export async function close(): Promise<void> {
  await workplace?.[Symbol.asyncDispose]()
}

interface Reading {
  readonly bytes: number
  readonly objects: number
  readonly connections: number
  readonly unit: 'requests' | 'bytes'
  readonly node: string
  readonly keys: Readonly<Record<string, string | number>>
  readonly limits: string
}

interface Prepared {
  readonly ours: string
  readonly peer: string
  readonly boundUrl: string
  readonly pathsFile: string
}

const PEER = 'nginx, one worker, sendfile, no access log'

function reading(name: string, program: string, options: Reading): BenchCase {
  const { bytes, objects, connections, unit } = options
  let prepared: Promise<Prepared> | undefined
  const prepare = async (): Promise<Prepared> => {
    const node = await place().node(options.node, options.keys)
    const paths: string[] = []
    for (let count = 0; count < objects; count += 1) paths.push(await place().publish(node, bytes))
    const pathsFile = join(place().directory, `paths-${name}`)
    await writeFile(pathsFile, paths.map((path) => `${path}\n`).join(''))
    const peer = await place().peer()
    const bound = await place().bare(bytes)
    const path = objects === 1 ? (paths[0] ?? '') : ''
    return { ours: node.url + path, peer: peer.url + path, boundUrl: bound.url + path, pathsFile }
  }
  const sides = new Pair(async () => {
    prepared ??= prepare()
    const { ours, peer, boundUrl, pathsFile } = await prepared
    const load = { program, connections, slices: 6, unit, boundUrl }
    return await duel(ours, peer, objects === 1 ? load : { ...load, pathsFile })
  })
  return {
    name,
    unit: `${unit}/s`,
    higherIsBetter: true,
    peerName: PEER,
    limits: `${connections} connections, wrk, loopback, slices of 150 ms by turns, rate off, one request in a hundred logged, ${options.limits}`,
    ours: async () => await sides.take('ours'),
    peer: async () => await sides.take('peer'),
    bound: { name: 'bare node:http, one buffer', run: async () => await sides.take('bound') },
  }
}

const HOT = { objects: 1, node: 'hot', keys: {}, limits: 'the object in the verified cache of 256 MiB' } as const
const COLD = {
  objects: 512,
  node: 'cold',
  keys: { cache_bytes: 0 },
  limits: '512 objects in turn, verified cache off: read and hashed each time, page cache warm on both sides',
} as const

function readings(program: string): BenchCase[] {
  return [
    reading('get-1k', program, { ...HOT, bytes: KIB, connections: 16, unit: 'requests' }),
    reading('get-64k', program, { ...HOT, bytes: 64 * KIB, connections: 16, unit: 'requests' }),
    reading('get-64m', program, { ...HOT, bytes: 64 * MIB, connections: 4, unit: 'bytes' }),
    reading('get-64k-cold', program, { ...COLD, bytes: 64 * KIB, connections: 16, unit: 'requests' }),
  ]
}

const CLIENTS = 16
const PUTS = 64

async function figureOf(script: URL, options: readonly string[]): Promise<number> {
  return Number(await Program.node(script, options).output())
}

const PUT: BenchCase = {
  name: 'put-1m',
  unit: 'bytes/s',
  higherIsBetter: true,
  peerName: 'writev of 16 × 1 MiB, fdatasync, again',
  limits: `${CLIENTS} clients, ${PUTS} new objects of 1 MiB a run, acknowledged once durable, one copy, same file system`,
  ours: async () => {
    const { url, token } = await place().node('put')
    const options = [url, token, String(CLIENTS), String(MIB), String(PUTS)]
    return await figureOf(new URL('./storage/put-load.ts', import.meta.url), options)
  },
  peer: async () => {
    const options = [join(place().directory, 'bare-writes'), String(CLIENTS), String(MIB), String(PUTS)]
    return await figureOf(new URL('./storage/bare-writes.ts', import.meta.url), options)
  },
}

/** Objects in the large store; fewer than a million only where making them would take too long. */
const MANY = Number(process.env['BENCH_OBJECTS'] ?? 250_000)
const MANY_LIMITS = `${MANY} objects of one chunk each; BENCH_OBJECTS says how many`

async function memoryOf(mode: 'index' | 'map'): Promise<number> {
  await place().many(MANY)
  const script = new URL('./storage/many-objects.ts', import.meta.url).pathname
  const options = ['--expose-gc', script, mode, place().manyPath, String(MANY)]
  return Number(await new Program(process.execPath, options).output())
}

const MEMORY: BenchCase = {
  name: 'index-memory',
  unit: 'bytes/chunk',
  higherIsBetter: false,
  peerName: 'a Map from address to place',
  limits: `${MANY_LIMITS}; growth of heap and buffers after every chunk was looked up, mapped index pages not counted`,
  ours: async () => await memoryOf('index'),
  peer: async () => await memoryOf('map'),
}

const RESTART: BenchCase = {
  name: 'restart',
  unit: 's',
  higherIsBetter: false,
  peerName: 'the same node with an empty store',
  limits: `${MANY_LIMITS}; from the start of the process to the first object read`,
  ours: async () => {
    await place().many(MANY)
    return await secondsToFirstRead('many', addressOf(new TextEncoder().encode('object 0')), 200)
  },
  peer: async () => await secondsToFirstRead('empty', addressOf(new Uint8Array(1)), 404),
}

async function secondsToFirstRead(name: string, address: string, status: number): Promise<number> {
  const startedAt = performance.now()
  await using node = await startNode(join(place().directory, name))
  const answer = await fetch(`${node.url}/o/${address}`)
  await answer.arrayBuffer()
  if (answer.status !== status) throw new Error(`The first read was answered ${answer.status}.`)
  return (performance.now() - startedAt) / 1000
}

const HASHED_CHUNKS = 2048

function hashing(hash: (bytes: Uint8Array, firstLeaf: number) => Uint8Array): () => Promise<number> {
  return async () => {
    const bytes = new StampedBytes(64 * KIB).bytes
    return await perSecond(HASHED_CHUNKS * bytes.length, HASHED_CHUNKS, () => {
      let done = 0
      for (let chunk = 0; chunk < HASHED_CHUNKS; chunk += 1) if (hash(bytes, chunk * 64).length === 32) done += 1
      return done
    })
  }
}

const CHAINING: BenchCase = {
  name: 'chaining',
  unit: 'bytes/s',
  higherIsBetter: true,
  peerName: 'the native hash of the same chunks',
  limits: `one core, ${HASHED_CHUNKS} chunks of 64 KiB`,
  ours: hashing(chainingValue),
  peer: hashing((bytes) => blake3(bytes)),
}

const missing = [nginx === undefined ? 'nginx' : '', wrk === undefined ? 'wrk' : ''].filter((name) => name !== '')

export const CASES: readonly BenchCase[] = [
  ...(wrk === undefined || nginx === undefined ? [] : readings(wrk)),
  PUT,
  MEMORY,
  RESTART,
  CHAINING,
]

/** Cases that cannot run here, and why. */
export const SKIPPED: ReadonlyMap<string, string> = new Map(
  missing.length === 0
    ? []
    : ['get-1k', 'get-64k', 'get-64m', 'get-64k-cold'].map((name) => [
        name,
        `tool absent: ${missing.join(', ')}; bench/install-peers installs it`,
      ]),
)
