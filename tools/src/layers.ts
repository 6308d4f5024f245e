/**
 * Dependencies point down only.
 *
 *   node  cli  console                     ─┐ entry
 *   services/*                              │ service      never one service from another: they talk through clients
 *   store  mailbox  routing  packs  erasure │ shared
 *   http                                    │ http         the server side of HTTP
 *   platform                                │ platform     the machine
 *   sdk  clients  names  tlog               │ portable     run in a browser, like all below
 *   transport                               │ transport    requests to services, by socket or in process
 *   api                                     │ api          what every route promises
 *   wire                                    │ wire         kernel's errors only
 *   kernel                                 ─┘ kernel       imports nothing of ours
 *
 *   verify  bench  tools              workshop     import anything above; nobody imports them
 *
 * Between packages only the public index is imported, and by tests and the workshop `/testing`. verify alone opens a package: what it checks are the
 * cores themselves, which no index offers. A test may run what it tests on the virtual machine in verify/virtual.
 */
import { dirname, join, normalize, relative, sep } from 'node:path'
import { importSource } from './lint-rules/imports.ts'
import { type Rule, rule } from './lint-rules/rule.ts'

type Layer =
  | 'kernel'
  | 'wire'
  | 'transport'
  | 'api'
  | 'portable'
  | 'platform'
  | 'http'
  | 'shared'
  | 'service'
  | 'entry'
  | 'workshop'

const PORTABLE: readonly Layer[] = ['kernel', 'wire', 'api', 'transport', 'portable']
const SERVICE: readonly Layer[] = [...PORTABLE, 'platform', 'http', 'shared']
const ENTRY: readonly Layer[] = [...SERVICE, 'service', 'entry']

/** For each layer, the layers it may import from other packages. */
const MAY_IMPORT: Readonly<Record<Layer, readonly Layer[]>> = {
  kernel: [],
  wire: ['kernel'],
  api: ['kernel', 'wire'],
  transport: ['kernel', 'wire'],
  portable: PORTABLE,
  platform: ['kernel', 'wire', 'transport'],
  http: ['kernel', 'wire', 'api', 'transport', 'platform'],
  shared: [...PORTABLE, 'platform', 'shared'],
  service: SERVICE,
  entry: ENTRY,
  workshop: [...ENTRY, 'workshop'],
}

/** A client's tests talk to a service that really runs. */
const TESTS_MAY_IMPORT: Readonly<Partial<Record<Layer, readonly Layer[]>>> = { portable: ENTRY }

const PACKAGE_LAYERS: ReadonlyMap<string, Layer> = new Map<string, Layer>([
  ['packages/kernel', 'kernel'],
  ['packages/wire', 'wire'],
  ['packages/api', 'api'],
  ['packages/transport', 'transport'],
  ['packages/platform', 'platform'],
  ['packages/http', 'http'],
  ['packages/store', 'shared'],
  ['packages/tlog', 'portable'],
  ['packages/names', 'portable'],
  ['packages/mailbox', 'shared'],
  ['packages/routing', 'shared'],
  ['packages/packs', 'shared'],
  ['packages/erasure', 'shared'],
  ['packages/clients', 'portable'],
  ['node', 'entry'],
  ['cli', 'entry'],
  ['sdk', 'portable'],
  ['console', 'entry'],
  ['verify', 'workshop'],
  ['bench', 'workshop'],
  ['tools', 'workshop'],
])

/** Our packages are named `@cairn/` and the last part of their folder. */
const SCOPE = '@cairn/'

/** A second entry of a package: what only tests and the workshop use. */
const TESTING = 'testing'

/** The folder of the package a file of the repository belongs to: `packages/kernel`, `services/edge`, `cli`. */
function packageOf(file: string): string {
  const [top = '', second = ''] = file.split('/')
  return top === 'packages' || top === 'services' ? `${top}/${second}` : top
}

function isTest(file: string): boolean {
  return /\/test\/|\.(test|prop|long)\.ts$/.test(file)
}

function layerOf(folder: string): Layer | undefined {
  return folder.startsWith('services/') ? 'service' : PACKAGE_LAYERS.get(folder)
}

function folderNamed(name: string): string {
  return [...PACKAGE_LAYERS.keys()].find((folder) => folder.split('/').at(-1) === name) ?? `services/${name}`
}

/**
 * Why `file` (a path from the repository's root, with `/`) may not import `specifier`, in one sentence;
 * undefined when it may.
 */
export function layerViolation(file: string, specifier: string): string | undefined {
  const from = packageOf(file)
  if (specifier.startsWith('.')) {
    const target = normalize(join(dirname(file), specifier))
      .split(sep)
      .join('/')
    const to = packageOf(target)
    if (to === from || from === 'verify') return undefined
    if (target.startsWith('verify/virtual/') && isTest(file)) return undefined
    return `'${specifier}' reaches into ${to} by path. Import its public index instead.`
  }
  if (!specifier.startsWith(SCOPE)) return undefined
  const [name = '', ...inside] = specifier.slice(SCOPE.length).split('/')
  const to = folderNamed(name)
  const isForTests = inside.join('/') === TESTING && (isTest(file) || layerOf(from) === 'workshop')
  if (inside.length > 0 && !isForTests)
    return `'${specifier}' is inside ${to}. Import '${SCOPE}${name}', its public index.`
  if (to === from) return `'${specifier}' is this very package. Import the file by its relative path.`
  return directionViolation(from, to, isTest(file))
}

function directionViolation(from: string, to: string, isForTest: boolean): string | undefined {
  const [lower, upper] = [layerOf(to), layerOf(from)]
  if (upper === undefined) return `${from} has no layer. Give it one in tools/src/layers.ts.`
  if (lower === undefined) return `${to} has no layer. Give it one in tools/src/layers.ts.`
  const allowed = (isForTest ? TESTS_MAY_IMPORT[upper] : undefined) ?? MAY_IMPORT[upper]
  if (allowed.includes(lower)) return undefined
  if (upper === 'service' && lower === 'service') {
    return `${from} imports the service ${to}. Services talk through @cairn/clients.`
  }
  return `${from} (${upper}) may not import ${to} (${lower}). Dependencies point down only.`
}

export const layers: Rule = rule('dependencies point down only, through public indexes', (context) => {
  const file = relative(context.cwd, context.filename).split(sep).join('/')
  return importSource((specifier, node) => {
    const message = layerViolation(file, specifier)
    if (message !== undefined) context.report({ node, message })
  })
})
