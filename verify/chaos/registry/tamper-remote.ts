/**
 * One thing changed in what a registry publishes: the walk of `cairn registry verify`, and the check of proof files, must
 * notice, and say at which entry where there is one.
 */
import { isDeepStrictEqual } from 'node:util'
import { Caller, registryClient } from '@cairn/clients'
import { INGRESS_METRICS } from '@cairn/http'
import {
  Breakers,
  CairnError,
  Deadline,
  KERNEL_METRICS,
  MemoryLog,
  MemoryMetrics,
  type Random,
  SystemClock,
  systemRuntime,
} from '@cairn/kernel'
import { parseProof, type TrustFile, verifyCheckpoint, verifyProof } from '@cairn/names'
import { systemCrypto } from '@cairn/platform'
import { parseCheckpoint, parseNote, TILE_WIDTH } from '@cairn/tlog'
import type { Transport } from '@cairn/transport'
import { addressOf, parseJson } from '@cairn/wire'
import { walkLog } from '../../../cli/src/registry-walk.ts'
import { REGISTRY_METRICS } from '../../../services/registry/src/metrics.ts'
import { VirtualWorld } from '../../virtual/world.ts'
import { RegistryLife } from './registry-life.ts'
import { runLoad } from './registry-load.ts'
import type { RegistryModule } from './registry-module.ts'

export type FileClass = 'tile 0' | 'tile 1' | 'entries' | 'checkpoint' | 'head' | 'proof'

export interface Publication {
  /** By path. */
  readonly files: ReadonlyMap<string, Uint8Array>
  readonly trust: TrustFile
  readonly now: number
}

export type RemoteDetection = 'by entry' | 'without an entry' | 'nothing changed'

const SEED = 11
/** With what the load leaves, more than one full tile. */
const ANCHORS = 220

export function classOf(path: string): FileClass {
  if (path.startsWith('/log/tile/0/')) return 'tile 0'
  if (path.startsWith('/log/tile/1/')) return 'tile 1'
  if (path.startsWith('/log/tile/entries/')) return 'entries'
  if (path.startsWith('/registry/proof/')) return 'proof'
  return path === '/log/checkpoint' ? 'checkpoint' : 'head'
}

/** Runs a load and fetches everything a remote verifier would. */
export async function publish(registry: RegistryModule): Promise<Publication> {
  const world = new VirtualWorld(SEED)
  const metrics = { ...KERNEL_METRICS, ...INGRESS_METRICS, ...REGISTRY_METRICS }
  const platform = world.machine('node').start({ metrics })
  const run = async (): Promise<Publication> => {
    const life = await RegistryLife.open({ registry, platform, data: 'data', onSigned: () => undefined })
    const pause = async (ms: number): Promise<void> => await world.sleep(ms)
    await runLoad({ life, mark: () => undefined, random: world.random, clients: 4, stepsEach: 30, pause })
    for (let count = 1; count <= ANCHORS; count += 1)
      await life.ask('POST', '/log/audit-heads', { head: addressOf(Uint8Array.of(count)), count })
    const { size, head } = life.parts.published.value
    const { identity, logKey, cosignerKey } = life.parts.signer
    const files = new Map<string, Uint8Array>()
    for (const path of [...pathsOf(size), `/registry/proof/${head.version}`, '/registry/proof/name/name-0@1']) {
      const answer = await life.ask('GET', path)
      if (answer.status !== 200) throw new Error(`${path} is answered ${answer.status}.`)
      files.set(path, answer.body)
    }
    await life.stop()
    await platform.workers.close()
    return { files, trust: { ...identity, logKeys: [logKey, cosignerKey] }, now: platform.clock.wall() }
  }
  return await world.run(run())
}

function pathsOf(size: number): string[] {
  const full = Math.floor(size / TILE_WIDTH)
  const rest = size % TILE_WIDTH
  const numbered = (level: string, count: number, width: number): string[] => [
    ...Array.from({ length: count }, (_, index) => `/log/tile/${level}/${String(index).padStart(3, '0')}`),
    ...(width === 0 ? [] : [`/log/tile/${level}/${String(count).padStart(3, '0')}.p/${width}`]),
  ]
  return [
    '/registry/head',
    '/log/checkpoint',
    ...numbered('0', full, rest),
    ...numbered('entries', full, rest),
    ...numbered('1', 0, full),
  ]
}

/** Says how the change was noticed; throws if it was not. */
export async function verifyRemotely(
  { files, trust, now }: Publication,
  path: string,
  changed: Uint8Array,
): Promise<RemoteDetection> {
  if (Buffer.from(changed).equals(files.get(path) ?? new Uint8Array(0))) return 'nothing changed'
  const served = new Map([...files, [path, changed]])
  try {
    if (classOf(path) === 'proof') {
      const verdict = verifyProof(parseProof(changed), trust, systemCrypto, { now })
      if (verdict.kind === 'refused') return 'without an entry'
      throw new Error(`A changed proof is ${verdict.kind}.`)
    }
    const bad = await walk(served, trust, now)
    if (bad === undefined && isSameJson(changed, files.get(path))) return 'nothing changed'
    if (bad === undefined) throw new Error('Nobody noticed.')
    return bad.index === undefined ? 'without an entry' : 'by entry'
  } catch (error) {
    if (error instanceof CairnError) return 'without an entry'
    throw new Error(`${path}: ${String(error)}`, { cause: error })
  }
}

/** White space between the fields of the answer about HEAD may change, and says nothing. */
function isSameJson(changed: Uint8Array, honest: Uint8Array | undefined): boolean {
  try {
    return isDeepStrictEqual(parseJson(changed), parseJson(honest ?? new Uint8Array()))
  } catch {
    return false
  }
}

/** What the walk finds wrong in these files; nothing if all holds. */
export async function walk(
  files: ReadonlyMap<string, Uint8Array>,
  trust: TrustFile,
  now: number,
): Promise<{ readonly index: number | undefined; readonly detail: string } | undefined> {
  const runtime = systemRuntime(new MemoryLog(), new MemoryMetrics(KERNEL_METRICS))
  const breakers = new Breakers(runtime)
  const base = new URL('http://registry.example/')
  const grant = { scopes: [], bearer: async () => await Promise.resolve('') }
  const caller = new Caller({ runtime, transport: shelf(files), base, target: 'registry', breakers, grant })
  const clock = new SystemClock()
  const call = () => ({ deadline: Deadline.after(clock, 10_000) })
  try {
    const client = registryClient(caller)
    const head = await client.head(call())
    const note = await client.checkpoint(call())
    const { origin, size, root } = parseCheckpoint(parseNote(note).text)
    if (origin !== trust.origin) throw new CairnError('Integrity', `This is the log ${origin}.`)
    verifyCheckpoint(note, undefined, trust, systemCrypto, { now })
    const options = { origin, size, root, head, pin: undefined, verifier: systemCrypto, onProgress: () => undefined }
    return (await walkLog({ client, url: base.href, call }, options)).bad
  } finally {
    breakers.close()
  }
}

/** A registry that only has these files. */
function shelf(files: ReadonlyMap<string, Uint8Array>): Transport {
  return {
    request: async ({ url }) => {
      const found = files.get(url.pathname)
      const body = Buffer.from(found ?? '{"code":"NotFound","title":"","detail":"","status":404,"type":"about:blank"}')
      const pieces = (async function* () {
        yield await Promise.resolve(body)
      })()
      const type = found === undefined ? 'application/problem+json' : 'application/json'
      return await Promise.resolve({
        status: found === undefined ? 404 : 200,
        headers: { 'content-type': type, 'content-length': String(body.length) },
        body: Object.assign(pieces, { cancel: () => undefined }),
      })
    },
    close: async () => await Promise.resolve(),
  }
}

/** One bit, or now and then its end cut off. */
export function change(bytes: Uint8Array, random: Random): Uint8Array {
  if (random.next() < 0.1) return new Uint8Array(bytes).slice(0, Math.floor(random.next() * bytes.length))
  // A copy, which `slice` of a Buffer is not.
  const copy = new Uint8Array(bytes)
  const at = Math.floor(random.next() * copy.length)
  copy[at] = (copy[at] ?? 0) ^ (1 << Math.floor(random.next() * 8))
  return copy
}
