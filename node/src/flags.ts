/** What `cairn start` was told, as what the node is made from. */

import type { ServiceModule } from '@cairn/http'
import { CairnError } from '@cairn/kernel'
import type { ConfigFlag } from '@cairn/platform'

/** The flags of `cairn start`, as typed. */
export interface StartOptions {
  /** Where everything is kept; else `CAIRN_DATA`, else `./.cairn`. */
  readonly data: string | undefined
  /** The first port; services listen on the ones after it. 0 lets the system choose them all. */
  readonly portBase: string | undefined
  /** Else `./cairn.toml`, if there is one. */
  readonly config: string | undefined
  /** Names with commas between; else all. */
  readonly services: string | undefined
  /** Everything in memory; else `CAIRN_AMNESIA`. */
  readonly amnesia: boolean
  /** Ports beyond loopback may do without TLS. */
  readonly insecurePublic: boolean
}

export interface StartFlags {
  readonly dataPath: string
  readonly amnesia: boolean
  readonly configFile: { readonly path: string; readonly required: boolean }
  readonly modules: readonly ServiceModule[]
  /** Set where other processes run the other services: what of the data directory this one has. */
  readonly parts: readonly string[] | undefined
  /** By service, where `--port-base` gives them; each listens at the host that the configuration names, else on loopback. */
  readonly ports?: ReadonlyMap<string, number>
  /** Keys the flags set. */
  readonly keys: readonly ConfigFlag[]
}

type Environment = Readonly<Record<string, string | undefined>>

export function readStartFlags(
  options: StartOptions,
  environment: Environment,
  services: readonly ServiceModule[],
): StartFlags {
  const { portBase, config } = options
  const dataPath = options.data ?? environment['CAIRN_DATA'] ?? './.cairn'
  const amnesia = options.amnesia || isOn(environment['CAIRN_AMNESIA'])
  const modules = options.services === undefined ? services : chosen(options.services, services)
  const parts = modules.length === services.length ? undefined : modules.map(({ name }) => name)
  return {
    dataPath,
    amnesia,
    configFile: { path: config ?? 'cairn.toml', required: config !== undefined },
    modules,
    parts,
    ...(portBase === undefined ? {} : { ports: portsFrom(portBase, services) }),
    keys: [
      ...(options.insecurePublic ? publicKeys(services) : []),
      ...(amnesia ? [] : [{ flag: '--data', key: 'node.uds.path', value: `${dataPath}/${socketName(parts)}` }]),
      // The port of the node is for a process that has all of it; each part is asked through its socket.
      ...(parts === undefined ? [] : [{ flag: '--services', key: 'node.bind_addr', value: '127.0.0.1:0' }]),
    ],
  }
}

/** Each process has a socket of its own in the directory they share. */
function socketName(parts: readonly string[] | undefined): string {
  return parts === undefined ? 'admin.sock' : `admin-${parts[0] ?? ''}.sock`
}

function isOn(text: string | undefined): boolean {
  return !['', '0', 'false'].includes(text ?? '')
}

function chosen(text: string, services: readonly ServiceModule[]): ServiceModule[] {
  const names = text.split(',').map((name) => name.trim())
  const strange = names.find((name) => !services.some((service) => service.name === name))
  // In the order they start, whatever the order they were named in.
  if (strange === undefined) return services.filter(({ name }) => names.includes(name))
  const known = services.map((service) => service.name).join(', ')
  throw new CairnError('Malformed', `--services: there is no service ${strange}; there are ${known || 'none yet'}.`, {
    code: 'usage',
  })
}

function portsFrom(text: string, services: readonly ServiceModule[]): ReadonlyMap<string, number> {
  const base = Number(text)
  // Port 0 lets the system choose, for every service.
  if (!Number.isInteger(base) || base < 0 || base > 65_000 || (base > 0 && base < 1024))
    throw new CairnError('Malformed', `--port-base must be 0 or a number from 1024 to 65000, not ${text}.`, {
      code: 'usage',
    })
  const port = (offset: number): number => (base === 0 ? 0 : base + offset)
  return new Map([['node', port(0)], ...services.map(({ name, portOffset }) => [name, port(portOffset)] as const)])
}

function publicKeys(services: readonly ServiceModule[]): ConfigFlag[] {
  const names = ['node', ...services.map(({ name }) => name)]
  return names.map((name) => ({ flag: '--insecure-public', key: `${name}.insecure_public`, value: true }))
}
