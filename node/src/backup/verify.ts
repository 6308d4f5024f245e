/**
 * Whether a restored directory holds what it says: the sums of every record of every journal, and every byte of
 * everything a name means, read the way the services read it.
 */
import { join } from 'node:path'
import { Caller, type StorageClient, storageClient } from '@cairn/clients'
import { NO_CAPABILITIES } from '@cairn/http'
import { Breakers, CairnError, Cancel, Config, Deadline } from '@cairn/kernel'
import { openParts, REGISTRY, registrySection } from '@cairn/registry'
import { STORAGE } from '@cairn/storage'
import { Journal } from '@cairn/store'
import { InProcessTransport } from '@cairn/transport'
import { type Address, decodeTree, MAX_TREE_BYTES, mayBeTree, type TreeObject } from '@cairn/wire'
import type { Machine, ServiceMachine } from '../machine.ts'
import { VERSION } from '../version.ts'
import { filesBelow } from './files.ts'

export interface RestoredDataReport {
  /** Records whose sums were computed again. */
  readonly records: number
  readonly names: number
  /** Objects that names mean, directly or in a directory, read to their end. */
  readonly objects: number
  /** What names mean that is not in the backup: somebody else holds it, or nobody. */
  readonly absent: readonly string[]
  /** Places in the journal of storage that were damaged when they were copied; what names mean is whole without them. */
  readonly damage: readonly string[]
}

const READY_MS = 10 * 60_000
const READ_MS = 10 * 60_000

export async function verifyRestored(
  machine: Machine,
  data: string,
  drives: readonly string[],
): Promise<RestoredDataReport> {
  const { records, damage } = await verifyJournals(machine, data)
  const named = await namedIn(machine, data)
  const walk = await withStorage(machine, data, drives, async (storage) => await walkNames(machine, storage, named))
  return { records, damage, names: named.length, ...walk }
}

/**
 * Every record of every journal. Only in that of storage may some be damaged: a drive flips bits, the object was put
 * again since, and the old bytes stay until they are compacted away.
 */
async function verifyJournals(machine: Machine, data: string): Promise<Pick<RestoredDataReport, 'records' | 'damage'>> {
  const files = await filesBelow(data)
  const directories = new Set(files.filter((path) => path.endsWith('.seg')).map((path) => join(data, path, '..')))
  const damage: string[] = []
  let records = 0
  for (const path of directories) {
    await using journal = await Journal.open(machine.node.platform, { path, sink: () => {} })
    if (journal.unreadable.length > 0) throw damaged(`${path}: segment ${journal.unreadable.join(', ')}`)
    for await (const event of journal.replay()) {
      if (event.tag !== 'damage') {
        records += 1
        continue
      }
      const where = `${path}: segment ${event.segment} from byte ${event.gap.from}`
      if (!path.startsWith(join(data, 'storage'))) throw damaged(where)
      damage.push(where)
    }
  }
  return { records, damage }
}

function damaged(where: string): CairnError {
  return new CairnError('Integrity', `A journal in the backup is damaged at ${where}.`, { code: 'backup_damaged' })
}

/** What every name means, as the registry's own log says. */
async function namedIn(machine: Machine, data: string): Promise<Address[]> {
  const directory = join(data, 'registry')
  if (!(await filesBelow(directory)).some((path) => path.endsWith('.seg'))) return []
  const { platform } = machine.service('registry', REGISTRY.metrics)
  const config = new Config({ values: registrySection.parse({}), origins: {} })
  const parts = await openParts({ platform, directory, config })
  try {
    return parts.published.value.state.items().flatMap((item) => (item.kind === 'name' ? [item.manifest] : []))
  } finally {
    await parts.close()
  }
}

const IDENTITY_BYTES = 32

async function withStorage<T>(
  machine: Machine,
  data: string,
  drives: readonly string[],
  use: (storage: StorageClient) => Promise<T>,
): Promise<T> {
  const { platform, metricsText }: ServiceMachine = machine.service('storage', STORAGE.metrics)
  const values = STORAGE.schema.parse({
    bind_addr: '127.0.0.1:0',
    lame_duck: 0,
    ...(drives.length === 0 ? {} : { drives }),
  })
  const host = {
    platform,
    config: new Config({ values, origins: {} }),
    authorizer: NO_CAPABILITIES,
    directory: join(data, 'storage'),
    version: { service: 'storage', version: VERSION },
    metricsText,
    onFatal: () => {},
    // The copy is only read: nothing is signed with it.
    identitySeed: new Uint8Array(IDENTITY_BYTES),
  }
  const started = await STORAGE.start(host)
  const transport = new InProcessTransport(started.running.ingress)
  const breakers = new Breakers(platform)
  try {
    // The index of a copy is made again out of its journal, which takes its time.
    using cancel = new Cancel({ deadline: Deadline.after(platform.clock, READY_MS) })
    await started.running.health.readiness.until(({ ready }) => ready, { signal: cancel.signal })
    const grant = { scopes: [], bearer: async () => await Promise.resolve('') }
    const base = new URL('http://localhost/')
    return await use(
      storageClient(new Caller({ runtime: platform, transport, base, target: 'storage', breakers, grant })),
    )
  } finally {
    breakers.close()
    await transport.close()
    await started.running.stop()
  }
}

/** Reads everything the names mean; a directory and all that is in it. Each byte is proved by the service that reads it. */
async function walkNames(
  { node: { platform } }: Machine,
  storage: StorageClient,
  named: readonly Address[],
): Promise<Pick<RestoredDataReport, 'objects' | 'absent'>> {
  const waiting = named.map((address) => ({ address, isTreeExpected: true }))
  const seen = new Set<Address>()
  const absent: Address[] = []
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { address, isTreeExpected } = next
    if (seen.has(address)) continue
    seen.add(address)
    const bytes = await readObject(storage, address, Deadline.after(platform.clock, READ_MS))
    if (bytes === undefined) absent.push(address)
    else if (isTreeExpected)
      waiting.push(...objectsIn(bytes).map(({ id, kind }) => ({ address: id, isTreeExpected: kind === 'tree' })))
  }
  return { objects: seen.size - absent.length, absent }
}

/** Reads it to its end; its bytes if it begins like a directory, none otherwise. Nothing if it is not here. */
async function readObject(
  storage: StorageClient,
  address: Address,
  deadline: Deadline,
): Promise<Uint8Array | undefined> {
  const { status, body } = await storage.open(address, {}, { deadline })
  const kept: Uint8Array[] = []
  let keptBytes = 0
  let isTree = true
  for await (const piece of body) {
    const start = kept[0] ?? piece
    isTree &&= keptBytes <= MAX_TREE_BYTES && mayBeTree(start)
    if (isTree) kept.push(piece.slice())
    keptBytes += isTree ? piece.length : 0
  }
  if (status === 404) return undefined
  if (status === 200) return isTree ? Buffer.concat(kept) : new Uint8Array()
  throw new CairnError('Integrity', `${address} cannot be read: ${status}.`, { code: 'backup_damaged' })
}

/** The objects a directory lists; nothing where this is none. */
function objectsIn(bytes: Uint8Array): readonly TreeObject[] {
  try {
    return bytes.length === 0 ? [] : decodeTree(bytes).filter((entry) => entry.kind !== 'link')
  } catch {
    return []
  }
}
