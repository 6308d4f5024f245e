/**
 * Packs that were added while the service ran, beside those of the configuration:
 *
 *     packs.json ── {name, path, b3?} … ──┐
 *                                         ├─▶ PackTable       a name of the configuration is the configuration's
 *     [[edge.packs]] ─────────────────────┘
 *
 * The file is replaced whole: after a crash it lists what it listed before a change, or after it.
 */
import { CairnError } from '@cairn/kernel'
import { type Disk, makeDirectories, PersistedValue, readSmallFile } from '@cairn/platform'
import { z } from 'zod'
import { type PackConfig, packSchema } from '../config.ts'

const SCHEMA = 'cairn.edge-packs/1'
/** The file is a small one, and every pack holds a file open. */
const PACKS_MAX = 1000

const fileSchema = z.strictObject({ schema: z.literal(SCHEMA), packs: z.array(packSchema).max(PACKS_MAX) })

export class AddedPacks {
  readonly #packs: PersistedValue<readonly PackConfig[]>

  private constructor(disk: Disk, path: string, packs: readonly PackConfig[]) {
    this.#packs = new PersistedValue({ disk, path, encode }, packs)
  }

  /** Reads what was added before; `Integrity` if the file is not one of ours. */
  static async open(disk: Disk, directory: string): Promise<AddedPacks> {
    await makeDirectories(disk, directory)
    const path = `${directory}/packs.json`
    const bytes = await readSmallFile(disk, path)
    return new AddedPacks(disk, path, bytes === undefined ? [] : parse(path, bytes))
  }

  /** Those whose names the configuration does not use. */
  beside(configured: readonly PackConfig[]): readonly PackConfig[] {
    return this.#packs.value.filter(({ name }) => !configured.some((pack) => pack.name === name))
  }

  /** Adds it, or puts it in the place of the one of its name; durable before it resolves. */
  async put(pack: PackConfig): Promise<void> {
    await this.#packs.change((packs) => {
      const others = packs.filter(({ name }) => name !== pack.name)
      if (others.length < PACKS_MAX) return [...others, pack]
      const detail = `${PACKS_MAX} packs are added; remove one first, or name some in [[edge.packs]].`
      throw new CairnError('Conflict', detail, { code: 'limit_reached' })
    })
  }

  /** Takes it away, durably; false if nobody added it. */
  async remove(name: string): Promise<boolean> {
    return await this.#packs.change((packs) => {
      const others = packs.filter((pack) => pack.name !== name)
      return others.length === packs.length ? undefined : others
    })
  }
}

function encode(packs: readonly PackConfig[]): Uint8Array {
  return new TextEncoder().encode(`${JSON.stringify({ schema: SCHEMA, packs }, undefined, 2)}\n`)
}

function parse(path: string, bytes: Uint8Array): readonly PackConfig[] {
  try {
    return fileSchema.parse(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))).packs
  } catch (cause) {
    const detail = `${path} is damaged; restore it from a backup, or remove it and add the packs again.`
    throw new CairnError('Integrity', detail, { code: 'bad_pack_list', cause })
  }
}
