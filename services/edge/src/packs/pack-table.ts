/**
 * Packs by name. A changed one is opened beside the old one and takes its place in one step; requests that began with
 * the old one end with it, and it is closed after the last of them. One whose file was replaced, and that can only be read
 * by its path, is opened again as soon as somebody notices.
 */
import { type Bus, CairnError, type Runtime, Semaphore, toCairnError, Watch } from '@cairn/kernel'
import { type Disk, makeDirectories, PersistedValue, readSmallFile } from '@cairn/platform'
import type { Address } from '@cairn/wire'
import { z } from 'zod'
import { type PackConfig, packSchema } from '../config.ts'
import { noSuchPack, packUnusable } from '../errors.ts'
import type { EdgeEvents } from '../parts.ts'
import type { OpenPack, ServedPack } from './open-pack.ts'

interface Mounted {
  readonly tag: 'mounted'
  readonly config: PackConfig
  readonly pack: ServedPack
  users: number
  isRetired: boolean
}

interface FailedPack {
  readonly tag: 'failed'
  readonly config: PackConfig
  readonly error: unknown
}

/** How it stands with one pack. */
export type PackState =
  | { readonly tag: 'mounted'; readonly pack: ServedPack }
  | { readonly tag: 'failed'; readonly why: string }

/** A file that does not become usable is not opened more often than this. */
const REOPEN_MS = 1000

/** A pack in use: it stays open until this is disposed of. */
export interface HeldPack extends Disposable {
  readonly pack: ServedPack
  readonly config: PackConfig
}

export class PackTable {
  /** How often all packs were gone through; not one is looked at before the first time is over. */
  readonly rounds = new Watch(0)
  readonly #runtime: Runtime
  readonly #events: Bus<EdgeEvents>
  readonly #open: OpenPack
  readonly #packs = new Map<string, Mounted | FailedPack>()
  readonly #closing = new Set<Promise<void>>()
  /** One change at a time, so that none undoes another that began before it. */
  readonly #changing = new Semaphore(1)
  /** Packs to be opened again, and when each was last tried. */
  readonly #replaced = new Set<string>()
  readonly #reopenedAt = new Map<string, number>()
  #onChange: () => void = () => {}
  #onReplaced: () => void = () => {}

  constructor(runtime: Runtime, events: Bus<EdgeEvents>, open: OpenPack) {
    this.#runtime = runtime
    this.#events = events
    this.#open = open
  }

  /** The pack of this name, and of this address where one is asked for. */
  hold(name: string, address: Address | undefined): HeldPack {
    const row = this.#find(name, address)
    row.users += 1
    let isHeld = true
    return {
      pack: row.pack,
      config: row.config,
      [Symbol.dispose]: () => {
        if (!isHeld) return
        isHeld = false
        row.users -= 1
        this.#closeIfUnused(row)
      },
    }
  }

  /** The same for a look at what is in memory, in this step alone: it may be closed after it. */
  look(name: string, address: Address | undefined): Pick<HeldPack, 'pack' | 'config'> {
    return this.#find(name, address)
  }

  #find(name: string, address: Address | undefined): Mounted {
    const row = this.#packs.get(name)
    if (row === undefined) throw noSuchPack(name)
    if (row.tag === 'failed') throw packUnusable(name, row.error)
    if (address !== undefined && row.pack.address !== address) throw noSuchPack(`${name}@${address}`)
    return row
  }

  /** Opens what is new or changed, closes what is gone. A pack that cannot be opened keeps the one before it. */
  async mount(configs: () => readonly PackConfig[], signal: AbortSignal): Promise<void> {
    using _turn = await this.#changing.acquire({ signal })
    await this.#mountAll(configs(), signal)
    this.rounds.set(this.rounds.value + 1)
  }

  /** Opens one beside all others; `keep` runs before it is served, and if it fails nothing has changed. */
  async add(config: PackConfig, keep: () => Promise<void>, signal: AbortSignal): Promise<void> {
    using _turn = await this.#changing.acquire({ signal })
    const pack = await this.#openPack(config, signal)
    try {
      await keep()
    } catch (error) {
      await pack.close()
      throw error
    }
    this.#swap(config, pack)
    this.#changed()
  }

  /** Serves it no more, once `forget` says that it was one to be forgotten; false otherwise. */
  async remove(name: string, forget: () => Promise<boolean>, signal: AbortSignal): Promise<boolean> {
    using _turn = await this.#changing.acquire({ signal })
    if (!(await forget())) return false
    const row = this.#packs.get(name)
    if (row !== undefined) this.#drop(name, row)
    this.#changed()
    return true
  }

  /** Somebody found that the file of this pack is another by now; whoever listens will open it again. */
  noteReplaced(name: string): void {
    const { clock } = this.#runtime
    if (clock.now() - (this.#reopenedAt.get(name) ?? Number.NEGATIVE_INFINITY) < REOPEN_MS) return
    this.#replaced.add(name)
    this.#onReplaced()
  }

  /** Opens the packs again whose files were replaced. One that cannot be opened stays as it is. */
  async reopen(signal: AbortSignal): Promise<void> {
    for (const name of this.#replaced) {
      using _turn = await this.#changing.acquire({ signal })
      this.#replaced.delete(name)
      this.#reopenedAt.set(name, this.#runtime.clock.now())
      const row = this.#packs.get(name)
      if (row?.tag === 'mounted') await this.#mountOne(row.config, signal)
    }
  }

  /** Calls `listener` when a pack is to be opened again, in place of whoever listened before. */
  followReplaced(listener: () => void): void {
    this.#onReplaced = listener
    if (this.#replaced.size > 0) listener()
  }

  /** Calls `listener` after every change, pack by pack, in place of whoever listened before. */
  follow(listener: () => void): void {
    this.#onChange = listener
  }

  state(name: string): PackState | undefined {
    const row = this.#packs.get(name)
    if (row === undefined) return undefined
    return row.tag === 'mounted' ? row : { tag: 'failed', why: toCairnError(row.error).message }
  }

  async #mountAll(configs: readonly PackConfig[], signal: AbortSignal): Promise<void> {
    for (const [name, row] of this.#packs) if (!configs.some((config) => config.name === name)) this.#drop(name, row)
    this.#changed()
    for (const config of configs) await this.#mountOne(config, signal)
  }

  async #mountOne(config: PackConfig, signal: AbortSignal): Promise<void> {
    try {
      const opened = await this.#openPack(config, signal)
      this.#swap(config, opened)
    } catch (error) {
      this.#fail(config, error)
    }
    this.#changed()
  }

  #changed(): void {
    const rows = [...this.#packs.values()]
    for (const state of ['mounted', 'failed'] as const) {
      const count = rows.filter(({ tag }) => tag === state).length
      this.#runtime.metrics.set('edge_packs', count, { state })
    }
    this.#onChange()
  }

  /** The names that cannot be served, with why. */
  failures(): readonly { readonly name: string; readonly why: string }[] {
    return [...this.#packs].flatMap(([name, row]) =>
      row.tag === 'failed' ? [{ name, why: toCairnError(row.error).message }] : [],
    )
  }

  get count(): number {
    return this.#packs.size
  }

  async close(): Promise<void> {
    for (const [name, row] of this.#packs) this.#drop(name, row)
    await Promise.all(this.#closing)
  }

  async #openPack(config: PackConfig, signal: AbortSignal): Promise<ServedPack> {
    const file = { path: config.path, ...(config.b3 === undefined ? {} : { address: config.b3 as Address }) }
    return await this.#open(file, { signal })
  }

  #swap(config: PackConfig, pack: ServedPack): void {
    const before = this.#packs.get(config.name)
    this.#packs.set(config.name, { tag: 'mounted', config, pack, users: 0, isRetired: false })
    if (before?.tag === 'mounted') this.#retire(before)
    this.#runtime.log.info({ pack: config.name, address: pack.address }, 'pack mounted')
    this.#events.publish({ topic: 'edge.pack.mounted', body: { pack: config.name, address: pack.address } })
  }

  #fail(config: PackConfig, error: unknown): void {
    this.#runtime.log.error({ pack: config.name, error }, 'pack cannot be opened')
    if (this.#packs.get(config.name)?.tag === 'mounted') return
    this.#packs.set(config.name, { tag: 'failed', config, error })
  }

  #drop(name: string, row: Mounted | FailedPack): void {
    this.#packs.delete(name)
    this.#reopenedAt.delete(name)
    if (row.tag === 'mounted') this.#retire(row)
  }

  #retire(row: Mounted): void {
    row.isRetired = true
    this.#closeIfUnused(row)
  }

  #closeIfUnused(row: Mounted): void {
    if (!row.isRetired || row.users > 0) return
    const closing = row.pack
      .close()
      .catch((error: unknown) => this.#runtime.log.warn({ error }, 'pack not closed cleanly'))
      .finally(() => {
        this.#closing.delete(closing)
      })
    this.#closing.add(closing)
  }
}

// * Packs that were added while the service ran, beside those of the configuration:
//
//     packs.json ── {name, path, b3?} … ──┐
//                                         ├─▶ PackTable       a name of the configuration is the configuration's
//     [[edge.packs]] ─────────────────────┘
//
// The file is replaced whole: after a crash it lists what it listed before a change, or after it.

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
