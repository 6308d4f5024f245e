/**
 * The layers of a configuration, read and laid one over the other.
 *
 *     flags         --port-base 7000                      strongest
 *     environment   CAIRN__STORAGE__INGRESS__MAX_RPS=0
 *     file          cairn.toml
 *     defaults      (the declaration's own)               weakest
 *
 * The result is still unchecked: a tree of raw values, and for each declared key where its value is from.
 */
import { CairnError, isKind, toCairnError } from '@cairn/kernel'
import { parse, TomlError, type TomlTable } from 'smol-toml'
import { z } from 'zod'
import type { Disk } from '../disk/disk.ts'
import { type ConfigProblem, nearest, type ProblemPlaces } from './problem.ts'
import { type DeclaredKey, ENVIRONMENT_PREFIX } from './setting.ts'
import { type Path, TomlPositions, tomlPositions, UnclearToml } from './toml-positions.ts'

export interface ConfigFlag {
  /** As the user typed it, for origins and errors: `--port-base`. */
  readonly flag: string
  /** The full key it sets. */
  readonly key: string
  readonly value: string | number | boolean | readonly string[]
}

export interface ConfigSources {
  /** A file that was not named explicitly may be absent. */
  readonly file?: { readonly path: string; readonly required: boolean } | undefined
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly flags: readonly ConfigFlag[]
  /** Reads the file, and files that hold secrets. */
  readonly disk: Pick<Disk, 'open'>
}

/** A configuration file is written by hand; one larger than this is the wrong file. */
const FILE_BYTES_MAX = 1024 * 1024

interface Tree {
  [name: string]: unknown
}

export interface Layers {
  readonly tree: unknown
  /** By full key; keys left at their default are absent. */
  readonly origins: ReadonlyMap<string, string>
  readonly places: ProblemPlaces
  readonly problems: readonly ConfigProblem[]
}

export async function readLayers(keys: readonly DeclaredKey[], sources: ConfigSources): Promise<Layers> {
  const problems: ConfigProblem[] = []
  const origins = new Map<string, string>()
  const file = await readFileLayer(sources, problems)
  const tree: Tree = file.tree
  for (const { key, path } of keys) {
    const place = file.places.at(path)
    if (place !== undefined) origins.set(key, `${file.name}:${place.key.line}:${place.key.column}`)
  }
  for (const { key, origin, value } of await readEnvironment(keys, sources, problems)) {
    if (put(tree, key.path, value)) origins.set(key.key, origin)
  }
  for (const { flag, key, value } of sources.flags) {
    const declared = keys.find((known) => known.key === key)
    if (declared === undefined) throw new TypeError(`The flag ${flag} sets ${key}, which is not declared.`)
    const read = typeof value === 'string' ? fromText(declared, value) : value
    if (put(tree, declared.path, read)) origins.set(key, `flag ${flag}`)
  }
  return { tree, origins, problems, places: placesIn(keys, file, origins) }
}

interface FileLayer {
  readonly name: string
  readonly tree: Tree
  readonly places: TomlPositions
}

async function readFileLayer({ file, disk }: ConfigSources, problems: ConfigProblem[]): Promise<FileLayer> {
  const empty: FileLayer = { name: file?.path ?? 'the configuration', tree: {}, places: new TomlPositions() }
  if (file === undefined) return empty
  const name = file.path
  let text: string
  try {
    text = await readText(disk, name)
  } catch (error) {
    if (isKind(error, 'NotFound') && !file.required) return empty
    problems.push({ reason: 'unreadable', place: name, key: '', detail: toCairnError(error).message })
    return empty
  }
  try {
    return { name, tree: plain(parse(text, { unsafeKeyBehaviour: 'throw' })), places: tomlPositions(text) }
  } catch (error) {
    if (!(error instanceof TomlError) && !(error instanceof UnclearToml)) throw error
    const detail = error.message.split('\n')[0]?.replace('Invalid TOML document: ', '') ?? ''
    const { line, column } = error instanceof UnclearToml ? error.place : error
    const place = `${name}:${line}:${column}`
    problems.push({ reason: 'syntax', place, key: '', detail: `This is not TOML: ${detail}.` })
    return empty
  }
}

async function readText(disk: Pick<Disk, 'open'>, path: string): Promise<string> {
  await using file = await disk.open(path, { mode: 'read' })
  const size = await file.size()
  if (size > FILE_BYTES_MAX) {
    throw new CairnError(
      'TooLarge',
      `${path} has ${size} bytes, more than the ${FILE_BYTES_MAX} a configuration may have.`,
    )
  }
  const bytes = new Uint8Array(size)
  const length = await file.read(0, bytes)
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes.subarray(0, length))
  } catch (cause) {
    throw new CairnError('Malformed', `${path} is not UTF-8 text; save it as UTF-8.`, { cause })
  }
}

/** The parser's tables have no prototype, which the schema's object checks do not accept as plain. */
function plain(table: TomlTable): Tree {
  return Object.fromEntries(Object.entries(table).map(([name, value]) => [name, plainValue(value)]))
}

function plainValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plainValue)
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== null) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, plainValue(inner)]))
}

interface EnvironmentValue {
  readonly key: DeclaredKey
  readonly origin: string
  readonly value: unknown
}

async function readEnvironment(
  keys: readonly DeclaredKey[],
  { environment, disk }: ConfigSources,
  problems: ConfigProblem[],
): Promise<EnvironmentValue[]> {
  const byName = new Map(keys.map((key) => [key.environment, key]))
  const byFileName = new Map(keys.filter((key) => key.secret === true).map((key) => [`${key.environment}_FILE`, key]))
  const known = [...byName.keys(), ...byFileName.keys()]
  const values: EnvironmentValue[] = []
  for (const [name, text] of Object.entries(environment)) {
    if (!name.startsWith(ENVIRONMENT_PREFIX) || text === undefined) continue
    const origin = `env ${name}`
    const key = byName.get(name)
    const fileKey = byFileName.get(name)
    if (key !== undefined) {
      values.push({ key, origin, value: fromText(key, text) })
    } else if (fileKey === undefined) {
      const near = nearest(name, known)
      const detail = `${name} names no known key; ${near === undefined ? 'unset it.' : `did you mean ${near}?`}`
      problems.push({ reason: 'unknown_key', place: origin, key: '', detail })
    } else if (environment[fileKey.environment] !== undefined) {
      const detail = `${name} and ${fileKey.environment} are both set; keep one of them.`
      problems.push({ reason: 'invalid_value', place: origin, key: fileKey.key, detail })
    } else {
      try {
        values.push({ key: fileKey, origin, value: (await readText(disk, text)).replace(/\r?\n$/, '') })
      } catch (error) {
        const { message } = toCairnError(error)
        problems.push({ reason: 'unreadable', place: origin, key: fileKey.key, detail: message })
      }
    }
  }
  return values
}

/**
 * What a text from the environment or the command line means for this key: itself where the key takes text,
 * else the TOML value it spells, else its comma-separated parts. What fits nothing is left for validation to refuse.
 */
function fromText({ schema }: DeclaredKey, text: string): unknown {
  const accepts = (value: unknown): boolean => z.safeParse(schema, value).success
  if (accepts(text)) return text
  const value = spelled(text)
  if (value !== undefined && accepts(value)) return value
  const parts = text === '' ? [] : text.split(',').map((part) => part.trim())
  if (accepts(parts)) return parts
  return value ?? text
}

function spelled(text: string): unknown {
  try {
    return plain(parse(`value = ${text}`))['value']
  } catch (error) {
    if (error instanceof TomlError) return undefined
    throw error
  }
}

/** Sets the value, making tables on the way; false where something that is no table stands in the way. */
function put(tree: Tree, path: readonly string[], value: unknown): boolean {
  let table = tree
  for (const step of path.slice(0, -1)) {
    const next = Object.hasOwn(table, step) ? table[step] : (table[step] = {})
    if (typeof next !== 'object' || next === null || Array.isArray(next)) return false
    table = next as Tree
  }
  const last = path.at(-1)
  if (last === undefined) return false
  table[last] = value
  return true
}

function placesIn(keys: readonly DeclaredKey[], file: FileLayer, origins: ReadonlyMap<string, string>): ProblemPlaces {
  const keyOf = (path: readonly PropertyKey[]): DeclaredKey | undefined =>
    keys.find((known) => known.path.every((step, index) => path[index] === step))
  const inFile = (path: readonly PropertyKey[], part: 'key' | 'value'): string => {
    for (let length = path.length; length > 0; length -= 1) {
      const place = file.places.at(path.slice(0, length) as Path)?.[part]
      if (place !== undefined) return `${file.name}:${place.line}:${place.column}`
    }
    return file.name
  }
  const from = (path: readonly PropertyKey[], part: 'key' | 'value'): string => {
    const origin = origins.get(keyOf(path)?.key ?? '')
    return origin?.startsWith('env ') || origin?.startsWith('flag ') ? origin : inFile(path, part)
  }
  return {
    ofValue: (path) => from(path, 'value'),
    ofKey: (path) => from(path, 'key'),
    isSecret: (path) => keyOf(path)?.secret === true,
  }
}
