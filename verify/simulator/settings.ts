/**
 * How every node of a cluster is set up: small, impatient, and knowing the others.
 *
 *     oak   storage registry index edge interop      the one registry: the single writer of the log
 *     elm   storage          index edge interop  ──▶ its registry is oak's
 *     ash   storage          index edge interop  ──▶ its registry is oak's
 *
 * Storage keeps two copies of everything on two of the three; each index asks the indexes of the others.
 */
import { SERVICE_NAMES, type ServiceName } from './answer.ts'
import type { Settings } from './workload.ts'

/** With a dot, as hosts on the public internet have: an index believes no record that points at any other. */
export const NODE_NAMES: readonly string[] = ['oak.node', 'elm.node', 'ash.node']
/** Where the registry is. */
export const WRITER = 'oak.node'
/** Of every node, on its own drive: the data directory, its configuration, and the token for the storage of the others. */
export const DATA = 'data'
export const REGISTRY_DIRECTORY = `${DATA}/registry`
export const CONFIG_FILE = 'cairn.toml'
export const TOKEN_FILE = 'peer.token'

/** As little as can be configured. */
export const RESERVE_BYTES = 1024 * 1024
export const REPAIR_BYTES_PER_SECOND = 64 * 1024

const PORTS: Readonly<Record<ServiceName, number>> = {
  storage: 7071,
  index: 7072,
  registry: 7073,
  edge: 7074,
  interop: 7075,
}

export function urlOf(node: string, service: ServiceName): string {
  return `http://${node}:${PORTS[service]}`
}

/** What this port of a node is. */
export function serviceAt(port: number): ServiceName | undefined {
  return SERVICE_NAMES.find((service) => PORTS[service] === port)
}

export function clusterSettings(name: string): Settings {
  const others = NODE_NAMES.filter((other) => other !== name)
  const ingress = { hosts: [name] }
  const common = Object.fromEntries(SERVICE_NAMES.map((service) => [service, { ingress }]))
  return merge(common, {
    node: { ingress, ...(name === WRITER ? {} : { neighbours: { registry: `${urlOf(WRITER, 'registry')}/` } }) },
    storage: {
      reserve_bytes: RESERVE_BYTES,
      segment_bytes: '2MiB',
      // Longer than a request may take, and short enough that what nothing refers to is swept while things go wrong.
      upload_lease: '3s',
      cache_bytes: 65_536,
      pools: { get: 4, put: 4, repair: 2 },
      peers: others.map((id) => ({ url: urlOf(id, 'storage'), id, token_file: TOKEN_FILE })),
      placement: { id: name, peer_timeout: '1s' },
      durability: { sweep_interval: '4s', repair_pacing: REPAIR_BYTES_PER_SECOND },
    },
    index: {
      dht: { endpoints: others.map((id) => urlOf(id, 'index')) },
      announce: { http: [urlOf(name, 'storage')] },
    },
  })
}

/** The second's values where both have one. */
export function merge(first: Settings, second: Settings): Settings {
  const merged: Record<string, Settings[string]> = { ...first }
  for (const [key, value] of Object.entries(second)) {
    const before = merged[key]
    merged[key] = isTable(before) && isTable(value) ? merge(before, value) : value
  }
  return merged
}

function isTable(value: unknown): value is Settings {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** As TOML, every table inline: the configuration is read by a program, and its errors by nobody. */
export function toToml(settings: Settings): string {
  return Object.entries(settings)
    .map(([key, value]) => `${JSON.stringify(key)} = ${inline(value)}\n`)
    .join('')
}

function inline(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inline).join(', ')}]`
  if (!isTable(value)) return JSON.stringify(value)
  const pairs = Object.entries(value).map(([key, each]) => `${JSON.stringify(key)} = ${inline(each)}`)
  return `{ ${pairs.join(', ')} }`
}
