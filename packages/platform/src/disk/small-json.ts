/** Small files of JSON, each held against a schema. */
import type { z } from 'zod'
import type { Disk } from './disk.ts'
import { readSmallFile, replaceSmallFile } from './durable-file.ts'

/** `damaged`: it is there, and is not JSON, or not what the schema says. What to do then is for whoever wrote it. */
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

/** What these bytes say in JSON; `undefined` if that is nothing. */
export function jsonIn(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    return undefined
  }
}
