/** From flags to a node that can start: configuration, log, data directory, keys. */
import { CairnError, MemoryLog, MemoryMetrics, systemRuntime } from '@cairn/kernel'
import type { ServiceModule } from '@cairn/platform'
import {
  type ConfigFlag,
  type ConfigSchemas,
  type ConfigSources,
  ConfigStore,
  type Disk,
  type ListenConfig,
  loadConfig,
  openDataDirectory,
  RealDisk,
  renderProblems,
} from '@cairn/platform'
import { type NodeConfig, nodeSection } from './config.ts'
import type { StartFlags } from './flags.ts'
import { Machine, type NodeMachine } from './machine.ts'
import { CairnNode } from './node.ts'
import { firstSecrets, SECRET_REMEDIES, TokenKeys } from './token-keys.ts'

/** Keys of every service, started or not: a configuration file is right or wrong whatever runs. */
export function configSchemas(services: readonly ServiceModule[]): ConfigSchemas {
  return { node: nodeSection, ...Object.fromEntries(services.map(({ name, schema }) => [name, schema])) }
}

export interface Surroundings {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly services: readonly ServiceModule[]
  /** Somebody reads the output as it comes: text instead of JSON lines. */
  readonly isTerminal: boolean
}

export interface OpenedNode {
  readonly node: CairnNode
  readonly machine: Machine
}

export async function openNode(flags: StartFlags, surroundings: Surroundings): Promise<OpenedNode> {
  const { environment, services, isTerminal } = surroundings
  // Read from the machine's disk even in amnesia, which only forbids writing. Nothing is logged before there is a log.
  const disk = new RealDisk(systemRuntime(new MemoryLog(), new MemoryMetrics()))
  const store = await openStore(flags, { environment, services, disk })
  const config = store.config('node').current as NodeConfig
  const format = config.log.format === 'auto' ? (isTerminal ? 'text' : 'json') : config.log.format
  const memoryBytes = flags.amnesia ? config.amnesia_bytes : undefined
  const machine = new Machine({ level: config.log.level, format, memoryBytes })
  try {
    return { machine, node: await openNodeOn(machine, { flags, environment, store }) }
  } catch (error) {
    await machine[Symbol.asyncDispose]()
    throw error
  }
}

export interface NodePlan {
  readonly flags: StartFlags
  readonly environment: Surroundings['environment']
  readonly store: ConfigStore<ConfigSchemas>
}

/** The node on a machine that is there: its data directory and its keys, made at the first start. */
export async function openNodeOn(machine: NodeMachine, { flags, environment, store }: NodePlan): Promise<CairnNode> {
  const { platform } = machine.node
  const { dataPath, parts, amnesia } = flags
  const secrets = firstSecrets(platform, environment['CAIRN_ROOT_KEY'])
  const options = { path: dataPath, secrets, remedies: SECRET_REMEDIES }
  const data = await openDataDirectory(platform, { ...options, ...(parts === undefined ? {} : { parts }) })
  const keys = TokenKeys.open(platform, data)
  return new CairnNode({ machine, store, data, keys, amnesia })
}

export interface ConfigPlaces {
  readonly environment: Surroundings['environment']
  readonly services: readonly ServiceModule[]
  readonly disk: Disk
}

/** The configuration from every place it may be written in; throws with everything that is wrong with it. */
export async function openStore(
  { configFile, keys, ports }: StartFlags,
  { environment, services, disk }: ConfigPlaces,
): Promise<ConfigStore<ConfigSchemas>> {
  const schemas = configSchemas(services)
  const sources = { file: configFile, environment, flags: keys, disk }
  const places = ports === undefined ? [] : await placesAt(schemas, sources, ports)
  // What a flag sets later counts: a part of a node has its own port.
  const opened = await ConfigStore.open(schemas, { ...sources, flags: [...places, ...keys] })
  if (opened.tag === 'opened') return opened.store
  throw new CairnError('Malformed', `The configuration is not valid:\n${renderProblems(opened.problems)}`, {
    code: 'config',
  })
}

/** Where each service listens: at the port of the flag, and at the host that the file or the environment names. */
async function placesAt(
  schemas: ConfigSchemas,
  sources: ConfigSources,
  ports: ReadonlyMap<string, number>,
): Promise<readonly ConfigFlag[]> {
  const loaded = await loadConfig(schemas, { ...sources, flags: [] })
  // What is wrong with it is said when all of it is read.
  const values = loaded.tag === 'loaded' ? (loaded.values as Readonly<Record<string, ListenConfig>>) : {}
  return [...ports].map(([name, port]) => {
    const named = values[name]?.bind_addr.replace(/:\d+$/, '') ?? '127.0.0.1'
    return { flag: '--port-base', key: `${name}.bind_addr`, value: `${named}:${port}` }
  })
}
