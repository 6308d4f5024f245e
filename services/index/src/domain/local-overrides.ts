/**
 * What an operator said and must not be forgotten: pins, and local names.
 *
 *     book.json   {"v":1,"pins":["b3:…"],"names":{"site@1.0":"b3:…"}}      replaced whole, durable before it counts
 *
 * There are few of them and they change seldom, so one small file is enough. Changes take their turn; readers see the
 * last one that is durable.
 */
import { CairnError } from '@cairn/kernel'
import { parseName } from '@cairn/names'
import { type Disk, makeDirectories, PersistedValue, readSmallFile } from '@cairn/platform'
import { type Address, parseAddress } from '@cairn/wire'
import { z } from 'zod'
import { tooMany } from '../errors.ts'

interface OverrideValues {
  readonly pins: ReadonlySet<Address>
  readonly names: ReadonlyMap<string, Address>
}

/** Together less than the largest small file. */
const PINS_MAX = 8192
const NAMES_MAX = 1024

const file = z.strictObject({
  v: z.literal(1),
  pins: z.array(z.string().transform(parseAddress)),
  names: z.record(z.string().transform(parseName), z.string().transform(parseAddress)),
})

export class LocalOverrides {
  readonly #values: PersistedValue<OverrideValues>

  private constructor(disk: Disk, path: string, pages: OverrideValues) {
    this.#values = new PersistedValue({ disk, path, encode }, pages)
  }

  /** Reads the overrides in this directory; none if there is none. A damaged one is an error: pins do not vanish silently. */
  static async open(disk: Disk, directory: string): Promise<LocalOverrides> {
    const path = `${directory}/book.json`
    await makeDirectories(disk, directory)
    const bytes = await readSmallFile(disk, path)
    return new LocalOverrides(
      disk,
      path,
      bytes === undefined ? { pins: new Set(), names: new Map() } : parseOverrides(bytes, path),
    )
  }

  get pins(): ReadonlySet<Address> {
    return this.#values.value.pins
  }

  readonly isPinned = (key: string): boolean => this.pins.has(key as Address)

  name(name: string): Address | undefined {
    return this.#values.value.names.get(name)
  }

  get names(): ReadonlyMap<string, Address> {
    return this.#values.value.names
  }

  /** True if it was not pinned before; durable once resolved. */
  async pin(cid: Address): Promise<boolean> {
    return await this.#values.change(({ pins, names }) => {
      if (pins.has(cid)) return undefined
      if (pins.size >= PINS_MAX) throw tooMany('pins', PINS_MAX)
      return { pins: new Set([...pins, cid]), names }
    })
  }

  async unpin(cid: Address): Promise<boolean> {
    return await this.#values.change(({ pins, names }) =>
      pins.has(cid) ? { pins: new Set([...pins].filter((pin) => pin !== cid)), names } : undefined,
    )
  }

  async putName(name: string, address: Address): Promise<boolean> {
    return await this.#values.change(({ pins, names }) => {
      if (names.get(name) === address) return undefined
      if (!names.has(name) && names.size >= NAMES_MAX) throw tooMany('local names', NAMES_MAX)
      return { pins, names: new Map([...names, [name, address]]) }
    })
  }

  async removeName(name: string): Promise<boolean> {
    return await this.#values.change(({ pins, names }) =>
      names.has(name) ? { pins, names: new Map([...names].filter(([each]) => each !== name)) } : undefined,
    )
  }
}

function encode({ pins, names }: OverrideValues): Uint8Array {
  return new TextEncoder().encode(JSON.stringify({ v: 1, pins: [...pins], names: Object.fromEntries(names) }))
}

function parseOverrides(bytes: Uint8Array, path: string): OverrideValues {
  try {
    const { pins, names } = file.parse(JSON.parse(new TextDecoder().decode(bytes)))
    return { pins: new Set(pins), names: new Map(Object.entries(names)) }
  } catch (cause) {
    const detail = `${path} is damaged; restore it from a backup, or remove it to begin without pins and local names.`
    throw new CairnError('Integrity', detail, { cause })
  }
}
