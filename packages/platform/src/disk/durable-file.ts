/** Small files replaced whole (keys, markers, values, JSON): after a crash there is all of the new file or the old one. */
import { dirname } from 'node:path'
import { isKind, Owned, Semaphore, toCairnError } from '@cairn/kernel'
import type { z } from 'zod'
import type { Disk } from './disk.ts'

/*
 * `PersistedValue`: a value in memory with a small file behind it. Readers see only what is durable.
 *
 *     change ─▶ its turn ─▶ next(value) ─┬─ something ─▶ written ─▶ counts
 *                                        └─ nothing ───▶ done, unless the last write failed: then the file is as good as
 *                                                        any, and is written once more
 */

export interface PersistedFile<T> {
  readonly disk: Disk
  readonly path: string
  readonly encode: (value: T) => Uint8Array
}

export class PersistedValue<T> {
  readonly #file: PersistedFile<T>
  readonly #value: Owned<T>
  readonly #turn = new Semaphore(1)
  #isInDoubt = false

  /** `value` is what the file says, or what it means that there is none. */
  constructor(file: PersistedFile<T>, value: T) {
    this.#file = file
    this.#value = new Owned(value)
  }

  /** The last that is durable. */
  get value(): T {
    return this.#value.read().value
  }

  /** Whether there was something to change; `next` says to what, or nothing. It is as asked, durably, once this resolves. */
  async change(next: (value: T) => T | undefined): Promise<boolean> {
    using _turn = await this.#turn.acquire()
    const { value, version } = this.#value.read()
    const changed = next(value)
    if (changed === undefined && !this.#isInDoubt) return false
    const { disk, path, encode } = this.#file
    this.#isInDoubt = true
    await replaceSmallFile(disk, path, encode(changed ?? value))
    this.#isInDoubt = false
    if (changed === undefined) return false
    this.#value.commit(version, changed)
    return true
  }
}

/** `damaged`: the file is there and is not JSON, or does not fit the schema. Its owner decides what to do then. */
export type SmallJson<T> =
  | { readonly tag: 'absent' }
  | { readonly tag: 'damaged' }
  | { readonly tag: 'read'; readonly value: T }

export async function readSmallJson<S extends z.ZodType>(
  disk: Disk,
  path: string,
  schema: S,
): Promise<SmallJson<z.output<S>>> {
  const bytes = await readSmallFile(disk, path)
  if (bytes === undefined) return { tag: 'absent' }
  const parsed = schema.safeParse(jsonIn(bytes))
  return parsed.success ? { tag: 'read', value: parsed.data } : { tag: 'damaged' }
}

/** A crash leaves the old file or the new one: see `replaceSmallFile`. */
export async function replaceSmallJson(disk: Disk, path: string, value: object): Promise<void> {
  await replaceSmallFile(disk, path, new TextEncoder().encode(`${JSON.stringify(value)}\n`))
}

/** Parses these bytes as JSON; returns `undefined` if they are none. */
export function jsonIn(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    return undefined
  }
}

/** Keys, markers, tokens: nothing of this kind is larger. */
const WHOLE_FILE_BYTES_MAX = 1024 * 1024

/** Reads a small file whole; returns `undefined` if there is none of that name. */
export async function readSmallFile(disk: Disk, path: string): Promise<Uint8Array | undefined> {
  try {
    await using file = await disk.open(path, { mode: 'read' })
    const bytes = new Uint8Array(Math.min(await file.size(), WHOLE_FILE_BYTES_MAX))
    return bytes.subarray(0, await file.read(0, bytes))
  } catch (error) {
    if (isKind(error, 'NotFound')) return undefined
    throw error
  }
}

/**
 * Makes `path` hold exactly these bytes, durably before it resolves:
 *
 *     path.new (O_EXCL, 0600) ─ append ─ sync ─▶ rename to path ─▶ sync of the directory
 *
 * A crash leaves the old file or the new one, and perhaps a stray `.new` that the next call replaces.
 */
export async function replaceSmallFile(disk: Disk, path: string, bytes: Uint8Array): Promise<void> {
  const fresh = `${path}.new`
  try {
    await disk.unlink(fresh)
  } catch (error) {
    if (!isKind(error, 'NotFound')) throw error
  }
  {
    await using file = await disk.open(fresh, { mode: 'create' })
    await file.append([bytes])
    await file.sync()
  }
  await disk.rename(fresh, path)
  await disk.syncDirectory(dirname(path))
}

/**
 * Makes the directory and those above it, and every name on the way durable before it resolves: one that is already
 * there may have been made by a process that was killed before it could sync.
 */
export async function makeDirectories(disk: Disk, path: string): Promise<void> {
  const parent = dirname(path)
  if (parent === path) return
  await makeDirectories(disk, parent)
  await disk.makeDirectory(path)
  try {
    await disk.syncDirectory(parent)
  } catch (error) {
    // A directory that we may not even read is not one we made a name in.
    if (toCairnError(error).code !== 'disk_denied') throw error
  }
}
