/**
 * The console's files as a browser takes them: no bundle, each module as it is written, its types stripped.
 *
 *     console/src/app.ts ─ imports, and theirs ─▶ files by URL, with their types stripped, gzipped
 *                                              └▶ the import map, for names such as `lit`
 *
 * Below `/console/HASH/`: the hash is of everything, so an answer is good for ever, and a page never mixes two versions.
 */
import { createHash } from 'node:crypto'
import { readFile, realpath } from 'node:fs/promises'
import * as nodeModule from 'node:module'
import { dirname, extname, posix, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

export interface Asset {
  readonly type: string
  readonly bytes: Uint8Array
  readonly gzipped: Uint8Array
}

export interface ConsoleAssets {
  readonly hash: string
  /** By path below `/console/HASH/`. */
  readonly files: ReadonlyMap<string, Asset>
  /** JSON. */
  readonly importMap: string
  /** The path of a file of the console. */
  readonly pathOf: (file: URL) => string
}

export interface ConsoleSources {
  readonly modules: readonly URL[]
  /** Served as they are. */
  readonly plain: readonly URL[]
}

type Target = string | { readonly [condition: string]: Target } | null

interface PackageManifest {
  readonly name?: string
  readonly exports?: Target | Readonly<Record<string, Target>>
  readonly imports?: Readonly<Record<string, Target>>
  readonly main?: string
}

/** A package folder, with symbolic links resolved. */
interface Package {
  readonly folder: string
  readonly manifest: PackageManifest
}

interface Found {
  readonly text: string
  readonly type: string
}

const SCRIPT = 'text/javascript; charset=utf-8'
const TYPES: Readonly<Record<string, string>> = { '.css': 'text/css; charset=utf-8', '.svg': 'image/svg+xml' }

/** `import … from 'x'`, `export … from 'x'`, `import 'x'`, `import('x')`, minified or not. */
const SPECIFIER = /(?:\b(?:import|export)\b[\w\s{},*$]*?\bfrom|\bimport)\s*\(?\s*(['"])([^'"\s]+)\1/g

/** Types in comments name files that are no modules. */
function isInComment(text: string, index: number): boolean {
  const line = text.slice(text.lastIndexOf('\n', index) + 1, index)
  return /^\s*(?:\*|\/\/)|\/\*(?!.*\*\/)/.test(line)
}

/** Reads every module that the sources reach. Throws if one of them names a file that is not there. */
export async function collectAssets({ modules, plain }: ConsoleSources): Promise<ConsoleAssets> {
  const collector = new Collector()
  for (const module of modules) await collector.module(await realpath(fileURLToPath(module)))
  for (const file of plain) await collector.plain(await realpath(fileURLToPath(file)))
  return await collector.finish()
}

class Collector {
  readonly #found = new Map<string, Found>()
  readonly #imports = new Map<string, string>()
  readonly #packages = new Map<string, Package>()
  readonly #paths = new Map<string, string>()

  async module(file: string): Promise<void> {
    if (this.#paths.has(file)) return
    const path = await this.#pathFor(file)
    const source = await readFile(file, 'utf8')
    const text = file.endsWith('.ts') ? nodeModule.stripTypeScriptTypes(source) : source
    this.#found.set(path, { text: text.replace(/\n\/\/# sourceMappingURL=\S+\s*$/, '\n'), type: SCRIPT })
    for (const { index, 2: specifier = '' } of text.matchAll(SPECIFIER)) {
      if (isInComment(text, index)) continue
      const target = await this.#resolve(specifier, file)
      await this.module(target)
      if (!/^\.\.?\//.test(specifier)) this.#imports.set(specifier, await this.#pathFor(target))
    }
  }

  async plain(file: string): Promise<void> {
    const type = TYPES[extname(file)] ?? 'text/plain; charset=utf-8'
    this.#found.set(await this.#pathFor(file), { text: await readFile(file, 'utf8'), type })
  }

  async finish(): Promise<ConsoleAssets> {
    const hash = createHash('sha256')
    const sorted = [...this.#found].sort(([one], [other]) => (one < other ? -1 : 1))
    for (const [path, { text }] of sorted) hash.update(`${path}\0${text}\0`)
    const name = hash.digest('hex').slice(0, 16)
    const files = new Map<string, Asset>()
    for (const [path, { text, type }] of sorted) {
      const bytes = Buffer.from(text)
      files.set(path, { type, bytes, gzipped: await promisify(gzip)(bytes, { level: 9 }) })
    }
    const imports = Object.fromEntries([...this.#imports].map(([key, path]) => [key, `/console/${name}/${path}`]))
    const paths = this.#paths
    return {
      hash: name,
      files,
      importMap: JSON.stringify({ imports }),
      pathOf: (file) => paths.get(fileURLToPath(file)) ?? '',
    }
  }

  async #resolve(specifier: string, from: string): Promise<string> {
    if (/^\.\.?\//.test(specifier)) return await realpath(posix.join(dirname(from), specifier))
    if (specifier.startsWith('#')) {
      const { folder, manifest } = await this.#packageOf(from)
      return await realpath(posix.join(folder, targetFor(manifest.imports?.[specifier], specifier)))
    }
    const [, name = '', rest = ''] = /^((?:@[^/]+\/)?[^/]+)(.*)$/.exec(specifier) ?? []
    const { folder, manifest } = await this.#packageNamed(name, from)
    return await realpath(posix.join(folder, exported(manifest, `.${rest}`, specifier)))
  }

  /** `NAME/PATH`, where the name is the package's; the same file is the same module for every importer. */
  async #pathFor(file: string): Promise<string> {
    const known = this.#paths.get(file)
    if (known !== undefined) return known
    const { folder, manifest } = await this.#packageOf(file)
    const path = `${manifest.name ?? 'cairn'}/${relative(folder, file).split(sep).join('/')}`
    if (!this.#paths.has(file)) this.#paths.set(file, path)
    return path
  }

  /** The nearest folder above the file whose manifest has a name. */
  async #packageOf(file: string): Promise<Package> {
    for (let folder = dirname(file); folder !== dirname(folder); folder = dirname(folder)) {
      const found = await this.#packageAt(folder)
      if (found?.manifest.name !== undefined) return found
    }
    throw new TypeError(`${file} is in no package.`)
  }

  async #packageNamed(name: string, from: string): Promise<Package> {
    for (let folder = dirname(from); folder !== dirname(folder); folder = dirname(folder)) {
      const found = await this.#packageAt(`${folder}/node_modules/${name}`)
      if (found !== undefined) return found
    }
    throw new TypeError(`${from} imports ${name}, which is not installed.`)
  }

  async #packageAt(folder: string): Promise<Package | undefined> {
    const known = this.#packages.get(folder)
    if (known !== undefined) return known
    let text: string
    try {
      text = await readFile(`${folder}/package.json`, 'utf8')
    } catch (error) {
      if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR'))
        return undefined
      throw error
    }
    const found = { folder: await realpath(folder), manifest: JSON.parse(text) as PackageManifest }
    if (!this.#packages.has(folder)) this.#packages.set(folder, found)
    return found
  }
}

/** What the package has at an entry such as `./sha2.js`, for a browser. */
function exported({ exports, main }: PackageManifest, entry: string, specifier: string): string {
  if (exports === undefined || exports === null) return main ?? 'index.js'
  const isTable = typeof exports === 'object' && Object.keys(exports).some((key) => key.startsWith('.'))
  if (!isTable) return targetFor(exports, specifier)
  return targetFor((exports as Readonly<Record<string, Target>>)[entry], specifier)
}

const CONDITIONS: readonly string[] = ['browser', 'import', 'default']

/** The first condition in the order of the manifest that a browser meets. */
function targetFor(target: Target | undefined, specifier: string): string {
  if (typeof target === 'string') return target
  const condition = Object.keys(target ?? {}).find((name) => CONDITIONS.includes(name))
  if (target === undefined || target === null || condition === undefined)
    throw new TypeError(`${specifier} is not offered to browsers.`)
  return targetFor(target[condition], specifier)
}
