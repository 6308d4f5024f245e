/** The command line of `npm start` and `cairn start`. */
import { parseArgs } from 'node:util'
import { CairnError } from '@cairn/kernel'
import type { ConfigFlag } from '@cairn/platform'
import { PORT_BASE } from './config.ts'
import type { ServiceModule } from './service-module.ts'

export const START_HELP = `Starts a node with its services and stays until it is stopped.

  --data DIR        where everything is kept (default ./.cairn, or CAIRN_DATA)
  --port-base N     first port; services listen on the ones after it (default ${PORT_BASE})
  --config FILE     configuration (default ./cairn.toml, if there is one)
  --services A,B    only these services (default all)
  --amnesia         keep everything in memory; nothing is written, nothing survives
  --help            this text
`

export interface StartFlags {
  readonly help: boolean
  readonly dataPath: string
  readonly amnesia: boolean
  readonly configFile: { readonly path: string; readonly required: boolean }
  readonly modules: readonly ServiceModule[]
  /** Keys the flags set. */
  readonly keys: readonly ConfigFlag[]
}

const OPTIONS = {
  data: { type: 'string' },
  'port-base': { type: 'string' },
  config: { type: 'string' },
  services: { type: 'string' },
  amnesia: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const

export function readStartFlags(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
  services: readonly ServiceModule[],
): StartFlags {
  const { values } = parse(args)
  const dataPath = values.data ?? environment['CAIRN_DATA'] ?? './.cairn'
  return {
    help: values.help,
    dataPath,
    amnesia: values.amnesia,
    configFile: { path: values.config ?? 'cairn.toml', required: values.config !== undefined },
    modules: values.services === undefined ? services : chosen(values.services, services),
    keys: [
      ...(values['port-base'] === undefined ? [] : portKeys(values['port-base'], services)),
      ...(values.amnesia ? [] : [{ flag: '--data', key: 'node.uds.path', value: `${dataPath}/admin.sock` }]),
    ],
  }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: false })
  } catch (error) {
    const why = error instanceof Error ? error.message.split('\n')[0] : String(error)
    throw new CairnError('Malformed', `${why} See \`cairn start --help\`.`, { code: 'usage' })
  }
}

function chosen(text: string, services: readonly ServiceModule[]): ServiceModule[] {
  return text.split(',').map((name) => {
    const module = services.find((service) => service.name === name.trim())
    if (module !== undefined) return module
    const known = services.map((service) => service.name).join(', ')
    throw new CairnError('Malformed', `--services: there is no service ${name}; there are ${known || 'none yet'}.`, {
      code: 'usage',
    })
  })
}

function portKeys(text: string, services: readonly ServiceModule[]): ConfigFlag[] {
  const base = Number(text)
  // Port 0 lets the system choose, for every service.
  if (!Number.isInteger(base) || base < 0 || base > 65_000 || (base > 0 && base < 1024))
    throw new CairnError('Malformed', `--port-base must be 0 or a number from 1024 to 65000, not ${text}.`, {
      code: 'usage',
    })
  const key = (name: string, offset: number): ConfigFlag => ({
    flag: '--port-base',
    key: `${name}.bind_addr`,
    value: `127.0.0.1:${base === 0 ? 0 : base + offset}`,
  })
  return [key('node', 0), ...services.map(({ name, portOffset }) => key(name, portOffset))]
}
