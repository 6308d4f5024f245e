/**
 * The SDK as a browser takes it: the same files, their types stripped, named by an import map. No bundler, so that what
 * is tried is what is written.
 */
import { readFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { fileURLToPath } from 'node:url'

const ROOT = new URL('../../', import.meta.url)
const PREFIX = '/modules/'

/** Packages whose modules a page may ask for, and where they are. */
const PACKAGES: Readonly<Record<string, string>> = {
  '@cairn/sdk': 'sdk/',
  '@cairn/clients': 'packages/clients/',
  '@cairn/kernel': 'packages/kernel/',
  '@cairn/names': 'packages/names/',
  '@cairn/transport': 'packages/transport/',
  '@cairn/tlog': 'packages/tlog/',
  '@cairn/wire': 'packages/wire/',
  '@ipld/dag-cbor': 'node_modules/@ipld/dag-cbor/',
  '@noble/hashes': 'node_modules/@noble/hashes/',
  canonicalize: 'node_modules/canonicalize/',
  cborg: 'node_modules/cborg/',
  multiformats: 'node_modules/multiformats/',
}

type Target = string | { readonly [condition: string]: Target }

interface Manifest {
  readonly exports: Readonly<Record<string, Target>>
  readonly imports?: Readonly<Record<string, Target>>
}

/** The import map of a page: what every bundler reads out of the same `package.json` files. */
export async function importMap(): Promise<string> {
  const imports: Record<string, string> = {}
  for (const [name, folder] of Object.entries(PACKAGES)) {
    const manifest = JSON.parse(await readFile(new URL(`${folder}package.json`, ROOT), 'utf8')) as Manifest
    for (const [entry, target] of Object.entries({ ...manifest.exports, ...manifest.imports })) {
      const file = fileFor(target)
      const specifier = entry.startsWith('#') ? entry : `${name}${entry.slice(1)}`
      if (file !== undefined) imports[specifier] = `${PREFIX}${folder}${file.slice(2)}`
    }
  }
  return JSON.stringify({ imports })
}

/** What a browser gets: the first condition in the order of the file that it meets. */
function fileFor(target: Target): string | undefined {
  if (typeof target === 'string') return target
  const condition = Object.keys(target).find((name) => ['browser', 'import', 'default'].includes(name))
  return condition === undefined ? undefined : fileFor(target[condition] ?? {})
}

/** The JavaScript of a module that a page asks for; undefined for what is no module of ours. */
export async function moduleAt(path: string): Promise<string | undefined> {
  if (!path.startsWith(PREFIX) || !/\.[jt]s$/.test(path)) return undefined
  const file = new URL(path.slice(PREFIX.length), ROOT)
  if (!file.href.startsWith(ROOT.href)) return undefined
  const source = await readFile(fileURLToPath(file), 'utf8')
  return path.endsWith('.ts') ? stripTypeScriptTypes(source) : source
}
