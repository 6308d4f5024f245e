/** From flags to a node that can start: configuration, log, data directory, keys. */

import { checkListen, type ListenConfig, type ServiceModule } from '@cairn/http'
import { CairnError, MemoryLog, MemoryMetrics, systemRuntime, toCairnError } from '@cairn/kernel'
import {
  type ConfigFlag,
  type ConfigSchemas,
  type ConfigSources,
  ConfigStore,
  type Disk,
  type HostProcess,
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

// What a start would refuse of a configuration that is valid by itself: `cairn config validate` asks before it goes live.

export interface StartProblem {
  /** The node or the service it is about. */
  readonly service: string
  readonly detail: string
}

export interface CheckStartOptions {
  /** By service; the node itself is one of them. */
  readonly values: Readonly<Record<string, unknown>>
  readonly services: readonly ServiceModule[]
  readonly data: string
  /** Of the start that is checked: secrets may be in it. */
  readonly environment: HostProcess['environment']
}

/** Every service is asked, whatever the others say. Nothing is written, opened for writing, or asked over a network. */
export async function checkStart(options: CheckStartOptions): Promise<readonly StartProblem[]> {
  const { values, services, data, environment } = options
  await using machine = new Machine({ level: 'error', format: 'text', memoryBytes: undefined })
  const problems: StartProblem[] = [...samePorts(values as Readonly<Record<string, ListenConfig>>)]
  const attempt = async (service: string, check: () => Promise<void>): Promise<void> => {
    try {
      await check()
    } catch (error) {
      problems.push({ service, detail: toCairnError(error).message })
    }
  }
  for (const name of ['node', ...services.map((module) => module.name)])
    await attempt(name, async () => await checkListen(values[name] as ListenConfig))
  for (const module of services) {
    const { name, metrics } = module
    const own = machine.service(name, metrics).platform
    const { pid } = own.process
    const process: HostProcess = {
      pid,
      environment,
      onSignal: (hear) => own.process.onSignal(hear),
      exit: (code) => own.process.exit(code),
    }
    const platform = { ...own, process }
    const config = { current: values[name] } as never
    const readRoots = async (path: string) => await machine.readOperatorFile(path)
    await attempt(name, async () => await module.check({ platform, config, directory: `${data}/${name}`, readRoots }))
  }
  return problems
}

/** Two services cannot listen on one address. */
function samePorts(values: Readonly<Record<string, ListenConfig>>): readonly StartProblem[] {
  const first = new Map<string, string>()
  return Object.entries(values).flatMap(([service, { bind_addr: address }]) => {
    const other = first.get(address)
    if (other === undefined) first.set(address, service)
    if (other === undefined || address.endsWith(':0')) return []
    return [{ service, detail: `bind_addr is ${address}, and ${other} listens there already.` }]
  })
}

/** Keys of every service, started or not: a configuration file is right or wrong whatever runs. */
export function configSchemas(services: readonly ServiceModule[]): ConfigSchemas {
  return { node: nodeSection, ...Object.fromEntries(services.map(({ name, schema }) => [name, schema])) }
}

export interface NodeDependencies {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly services: readonly ServiceModule[]
  /** Somebody reads the output as it comes: text instead of JSON lines. */
  readonly isTerminal: boolean
}

export interface OpenedNode {
  readonly node: CairnNode
  readonly machine: Machine
}

export async function openNode(flags: StartFlags, dependencies: NodeDependencies): Promise<OpenedNode> {
  const { environment, services, isTerminal } = dependencies
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
  readonly environment: NodeDependencies['environment']
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

export interface ConfigInputs {
  readonly environment: NodeDependencies['environment']
  readonly services: readonly ServiceModule[]
  readonly disk: Disk
}

/** The configuration from every place it may be written in; throws with everything that is wrong with it. */
export async function openStore(
  { configFile, keys, ports }: StartFlags,
  { environment, services, disk }: ConfigInputs,
): Promise<ConfigStore<ConfigSchemas>> {
  const schemas = configSchemas(services)
  const sources = { file: configFile, environment, flags: keys, disk }
  const places = ports === undefined ? [] : await configInputsAt(schemas, sources, ports)
  // What a flag sets later counts: a part of a node has its own port.
  const opened = await ConfigStore.open(schemas, { ...sources, flags: [...places, ...keys] })
  if (opened.tag === 'opened') return opened.store
  throw new CairnError('Malformed', `The configuration is not valid:\n${renderProblems(opened.problems)}`, {
    code: 'config',
  })
}

/** Where each service listens: at the port of the flag, and at the host that the file or the environment names. */
async function configInputsAt(
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
