/**
 * The registry's log as far as it was proved here, and how it grows.
 *
 *     checkpoint: signed by whom we trust? ─▶ hashes of what is new ─▶ with ours they make its root? ─▶ entries
 *                                             (so it continues what we saw)                              │
 *                 head and state move only when all of it held ◀─ each lawful: signatures, quorum, ◀─ each the one
 *                                                                 chain, state root                   that was hashed
 *
 * An entry is judged only once its place in a signed tree is certain. So whatever was judged stays judged: a log that
 * turns out wrong at entry i is refused from i on, for good, and what came before it stands.
 */
import type { CallContext, RegistryClient } from '@cairn/clients'
import { CairnError, type Clock, isKind, sleep, toCairnError } from '@cairn/kernel'
import {
  type Head,
  LogReplay,
  type Pin,
  PROOF_REFUSALS,
  type RegistryState,
  type ReplayPlace,
  type TrustFile,
  verifyCheckpoint,
} from '@cairn/names'
import {
  Frontier,
  HASH_BYTES,
  type Hash,
  leafHash,
  parseCheckpoint,
  parseNote,
  type SignatureVerifier,
  TILE_WIDTH,
} from '@cairn/tlog'
import { equalBytes } from '@cairn/wire'

// Telling a registry that says something wrong from one that says nothing.

/** Why something the registry told was not taken over; a label, so the set is closed. */
export type ViewRefusalReason = keyof typeof PROOF_REFUSALS | keyof typeof VIEW_REFUSALS

/** Beside what a proof can be refused for. */
export const VIEW_REFUSALS = {
  bad_answer: 'it does not speak as agreed',
  forged_event: 'its stream tells of a version that its log does not prove',
  other_meaning: 'its proof of a name says something else than its log',
  pin_damaged: 'what was proved of it before cannot be read any more',
  rule_broken: 'an entry of the log breaks the rules of the registry',
  wrong_entry: 'an entry is not the one its hash was made of',
} as const

export interface ViewRefusal {
  readonly reason: ViewRefusalReason
  readonly detail: string
}

export function refuseView(reason: ViewRefusalReason, detail: string): CairnError {
  return new CairnError('Integrity', detail, { code: reason })
}

/** What the registry did wrong; undefined where it could not be asked, which says nothing about its log. */
export function findRefusal(error: unknown): ViewRefusal | undefined {
  const { kind, code, message: detail } = toCairnError(error)
  if (isReason(code)) return { reason: code, detail }
  const isAboutLog = isKind(error, 'Integrity') || kind === 'Malformed' || kind === 'NotFound' || kind === 'TooLarge'
  return isAboutLog ? { reason: 'bad_answer', detail } : undefined
}

function isReason(code: string): code is ViewRefusalReason {
  return Object.hasOwn(PROOF_REFUSALS, code) || Object.hasOwn(VIEW_REFUSALS, code)
}

/** What was proved, whole: never half of it. */
export interface ProvenLog {
  /** The checkpoint up to which everything was proved. */
  readonly pin: Pin
  readonly head: Head
  /** Undefined where retention removed the beginning of the log: then a name needs its own proof. */
  readonly state: RegistryState | undefined
  /** When the log signed the checkpoint, by its own clock; undefined where no key that is trusted says. */
  readonly signedAtMs: number | undefined
}

export interface LogTailOptions {
  readonly client: RegistryClient
  readonly trust: TrustFile
  readonly verifier: SignatureVerifier
  readonly clock: Clock
  /** Seen before, perhaps further than `from` goes: the log has to have this root at this size. */
  readonly pin: Pin | undefined
  /** Where an earlier tail was. */
  readonly from: { readonly frontier: Frontier; readonly place: ReplayPlace } | undefined
}

/** What is asked for one call, under one signal. */
export type CallContextFactory = () => CallContext

/** Work in one go, before others have their turn. */
const SLICE_MS = 8

export class LogTail {
  readonly #options: LogTailOptions
  readonly #replay: LogReplay
  /** Every entry in it was judged, or is known to have been removed. */
  readonly #frontier: Frontier
  #pin: Pin | undefined
  #ask: CallContextFactory = () => {
    throw new CairnError('Internal', 'The log is asked outside of a look at it.')
  }

  constructor(options: LogTailOptions) {
    const { client, trust, verifier, pin, from } = options
    this.#options = options
    this.#pin = pin
    this.#frontier = from?.frontier ?? new Frontier()
    const payloadOf = async (version: number) => (await client.version(version, this.#ask())).payload
    this.#replay =
      from === undefined
        ? new LogReplay(trust.origin, verifier, payloadOf)
        : LogReplay.resume(from.place, verifier, payloadOf)
  }

  /** Where another tail can go on; nothing where the beginning of the log was removed. */
  place(): LogTailOptions['from'] {
    const place = this.#replay.place()
    return place && { frontier: this.#frontier.clone(), place }
  }

  get size(): number {
    return this.#frontier.size
  }

  /** Looks at the log once; what is proved now. Throws what is wrong, or why it cannot be asked; then nothing moved. */
  async look(ask: CallContextFactory): Promise<ProvenLog> {
    this.#ask = ask
    try {
      return await this.#look(ask)
    } catch (error) {
      const reason = findRefusal(error)?.reason
      if (reason === 'older_than_pin' || reason === 'forked') await this.#showPin(ask)
      throw error
    }
  }

  /** A log that was put back from an older copy does not know it; what was seen here tells it, if it will hear. */
  async #showPin(ask: CallContextFactory): Promise<void> {
    const note = this.#pin?.checkpoint
    if (note === undefined) return
    try {
      await this.#options.client.showCheckpoint(new TextEncoder().encode(note), ask())
    } catch (error) {
      if (!(error instanceof CairnError)) throw error
    }
  }

  async #look(ask: CallContextFactory): Promise<ProvenLog> {
    const { client, trust, verifier, clock } = this.#options
    const note = await client.checkpoint(ask())
    const { size, root } = parseCheckpoint(parseNote(note).text)
    const { signedAtMs } = verifyCheckpoint(note, undefined, trust, verifier, { now: clock.wall() })
    const pin: Pin = { trust, size, root, checkpoint: new TextDecoder().decode(note) }
    const known = Math.max(this.#pin?.size ?? 0, this.#frontier.size)
    if (size < known) throw refuseView('older_than_pin', `The log shows ${size} entries; ${known} were seen before.`)
    const tiles = await this.#readHashes(pin)
    await this.#readEntries(tiles, size)
    const { head, state } = this.#replay
    if (head === undefined) throw refuseView('rule_broken', 'The log is empty: it does not begin with genesis.')
    this.#pin = pin
    return { pin, head, state, signedAtMs }
  }

  /** The hashes of the entries that are new, tile by tile: together with what is known they make the signed root. */
  async #readHashes({ size, root }: Pin): Promise<ReadonlyMap<number, Uint8Array>> {
    const tiles = new Map<number, Uint8Array>()
    const grown = this.#frontier.clone()
    this.#holdAgainstPin(grown)
    for (let at = grown.size; at < size; ) {
      const index = Math.floor(at / TILE_WIDTH)
      const width = Math.min(TILE_WIDTH, size - index * TILE_WIDTH)
      const tile = await this.#options.client.tile({ level: 0, index, width }, this.#ask())
      tiles.set(index, tile)
      for (; at < index * TILE_WIDTH + width; at += 1) {
        grown.append(hashIn(tile, at))
        this.#holdAgainstPin(grown)
      }
    }
    if (!equalBytes(grown.root(), root))
      throw refuseView('forked', `The log of ${size} entries does not continue the ${this.size} that were seen before.`)
    return tiles
  }

  #holdAgainstPin(grown: Frontier): void {
    const pin = this.#pin
    if (pin === undefined || grown.size !== pin.size || equalBytes(grown.root(), pin.root)) return
    throw refuseView('forked', `The first ${pin.size} entries are not those that were seen before.`)
  }

  async #readEntries(tiles: ReadonlyMap<number, Uint8Array>, size: number): Promise<void> {
    for (const [index, tile] of tiles) {
      const start = index * TILE_WIDTH
      const entries = await this.#bundle(index, Math.min(TILE_WIDTH, size - start))
      if (entries === undefined) this.#replay.skip()
      const { clock } = this.#options
      let beganAt = clock.now()
      for (let at = this.size; at < Math.min(size, start + TILE_WIDTH); at = this.size) {
        const hash = hashIn(tile, at)
        const entry = entries?.[at - start]
        if (entry !== undefined) await this.#judge(at, entry, hash)
        this.#frontier.append(hash)
        if (clock.now() - beganAt < SLICE_MS) continue
        await sleep(clock, 0, { signal: this.#ask().signal })
        beganAt = clock.now()
      }
    }
  }

  async #judge(index: number, entry: Uint8Array, hash: Hash): Promise<void> {
    if (!equalBytes(leafHash(entry), hash))
      throw refuseView('wrong_entry', `Entry ${index} is not the one that its hash in the tree was made of.`)
    try {
      await this.#replay.take(index, entry)
    } catch (error) {
      if (!(error instanceof CairnError) || (error.kind !== 'Integrity' && error.kind !== 'Malformed')) throw error
      throw refuseView('rule_broken', `Entry ${index} breaks the rules of the registry: ${error.message}`)
    }
    const { genesis } = this.#options.trust
    if (index === 0 && this.#replay.genesis !== genesis)
      throw refuseView(
        'other_genesis',
        `The log begins with ${this.#replay.genesis ?? 'nothing'}, not with ${genesis}.`,
      )
  }

  /** The entries of a bundle; nothing if retention removed them. */
  async #bundle(index: number, width: number): Promise<readonly Uint8Array[] | undefined> {
    try {
      return await this.#options.client.entries(index, width, this.#ask())
    } catch (error) {
      if (error instanceof CairnError && error.status === 410) return undefined
      throw error
    }
  }
}

function hashIn(tile: Uint8Array, leaf: number): Hash {
  const at = (leaf % TILE_WIDTH) * HASH_BYTES
  return tile.slice(at, at + HASH_BYTES)
}
