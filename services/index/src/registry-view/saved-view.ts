/**
 * What was proved, kept over a restart.
 *
 *     index/registry/pin.json     the last checkpoint proved, and by whose keys: what comes later must continue it
 *     index/registry/view         where the replay was, lines of JSON; the last holds the hash of the others
 *
 * The pin is written with every look that found something new. The view may be older, damaged or gone: then more of the
 * log, or all of it, is read and proved again, up to the same pin.
 */
import { CairnError, type Clock, isKind, sleep, toCairnError } from '@cairn/kernel'
import {
  encodePin,
  type LiveItem,
  type Pin,
  parseApproval,
  parseItem,
  parsePayload,
  parsePin,
  parseProposal,
  RegistryState,
  type ReplayedProposal,
} from '@cairn/names'
import { type Disk, makeDirectories, type Platform, readSmallFile, replaceSmallFile } from '@cairn/platform'
import { Frontier } from '@cairn/tlog'
import {
  type Address,
  addressOf,
  canonicalJson,
  fromBase64url,
  type JsonObject,
  type JsonValue,
  parseAddress,
  parseJson,
  toBase64url,
} from '@cairn/wire'
import type { LogTailOptions } from './log-tail.ts'

type TailPlace = NonNullable<LogTailOptions['from']>

const SCHEMA = 'cairn.index-view/1'
/** Lines handled in one go, before others have their turn. */
const SLICE_LINES = 64
/** A million names take about half of this. */
const VIEW_BYTES_MAX = 512 * 1024 * 1024
const NOTHING_BEFORE = addressOf(new Uint8Array(0))

export class SavedView {
  readonly #disk: Disk
  readonly #clock: Clock
  readonly #directory: string
  #isMade = false

  constructor({ disk, clock }: Pick<Platform, 'disk' | 'clock'>, directory: string) {
    this.#disk = disk
    this.#clock = clock
    this.#directory = directory
  }

  get pinPath(): string {
    return `${this.#directory}/pin.json`
  }

  get #viewPath(): string {
    return `${this.#directory}/view`
  }

  /** What was seen before. A damaged pin is not passed over: it is what keeps the registry from taking things back. */
  async readPin(): Promise<Pin | undefined> {
    const bytes = await readSmallFile(this.#disk, this.pinPath)
    if (bytes === undefined) return undefined
    try {
      return parsePin(bytes)
    } catch (cause) {
      const detail = `${this.pinPath}, which remembers what was proved of the registry, is damaged. Restore it; to begin anew, remove it and start again.`
      throw new CairnError('Integrity', detail, { code: 'pin_damaged', cause })
    }
  }

  async writePin(pin: Pin): Promise<void> {
    await this.#makeDirectory()
    await replaceSmallFile(this.#disk, this.pinPath, encodePin(pin))
  }

  /** Where the replay was; nothing if that was never written, or is damaged, or is of another log. */
  async readPlace(pin: Pin): Promise<TailPlace | undefined> {
    try {
      const bytes = await this.#readView()
      const place = bytes && (await this.#decode(bytes))
      return place?.place.log.genesis === pin.trust.genesis && place.frontier.size <= pin.size ? place : undefined
    } catch (error) {
      if (['Integrity', 'Malformed', 'TooLarge'].includes(toCairnError(error).kind)) return undefined
      throw error
    }
  }

  async writePlace(place: TailPlace): Promise<void> {
    const fresh = `${this.#viewPath}.new`
    await this.#makeDirectory()
    try {
      await this.#disk.unlink(fresh)
    } catch (error) {
      if (!isKind(error, 'NotFound')) throw error
    }
    {
      await using file = await this.#disk.open(fresh, { mode: 'create' })
      let hash = NOTHING_BEFORE
      for (const slice of slices(linesOf(place))) {
        const bytes = encodeLines(slice)
        hash = chained(hash, bytes)
        await file.append([bytes])
        await sleep(this.#clock, 0)
      }
      await file.append([encodeLines([{ b3: hash }])])
      await file.sync()
    }
    await this.#disk.rename(fresh, this.#viewPath)
    await this.#disk.syncDirectory(this.#directory)
  }

  /** Once: every directory above it is synced, and a pin is written whenever the registry has news. */
  async #makeDirectory(): Promise<void> {
    if (!this.#isMade) await makeDirectories(this.#disk, this.#directory)
    this.#isMade = true
  }

  async #readView(): Promise<Uint8Array | undefined> {
    try {
      await using file = await this.#disk.open(this.#viewPath, { mode: 'read' })
      const size = await file.size()
      if (size > VIEW_BYTES_MAX) throw new CairnError('TooLarge', 'The view is larger than any that was written.')
      const bytes = new Uint8Array(size)
      return bytes.subarray(0, await file.read(0, bytes))
    } catch (error) {
      if (isKind(error, 'NotFound')) return undefined
      throw error
    }
  }

  async #decode(bytes: Uint8Array): Promise<TailPlace> {
    const lines = splitLines(bytes)
    const end = lines.pop()
    const [header, ...rest] = lines
    if (header === undefined || end === undefined) throw damaged('has no lines')
    const { frontier, log, head } = readHeader(objectOf(header))
    const open: ReplayedProposal[] = []
    const committed: string[] = []
    let hash = NOTHING_BEFORE
    for (const slice of slices([header, ...rest])) {
      hash = chained(hash, joinLines(slice))
      await sleep(this.#clock, 0)
    }
    if (objectOf(end)['b3'] !== hash) throw damaged('has another hash than it says')
    let state = RegistryState.EMPTY
    for (const slice of slices(rest)) {
      const items: LiveItem[] = []
      for (const line of slice) takeLine(objectOf(line), { items, open, committed })
      state = RegistryState.of(items, state)
      await sleep(this.#clock, 0)
    }
    return { frontier, place: { log, head, state, open, committed } }
  }
}

/** First how far it is, then every item, every open proposal, and the ids of those that were committed. */
function* linesOf({ frontier, place }: TailPlace): Generator<JsonObject> {
  const { log, head, state, open, committed } = place
  const { origin, genesis } = log
  const { version, hash } = head
  yield { schema: SCHEMA, frontier: toBase64url(frontier.encode()), log: { origin, genesis }, head: { version, hash } }
  for (const item of state.each()) yield { item }
  for (const { proposal, payload, approvals } of open)
    yield { open: { proposal, approvals: [...approvals], ...(payload === undefined ? {} : { payload }) } }
  for (const id of committed) yield { committed: id }
}

interface Taken {
  readonly items: LiveItem[]
  readonly open: ReplayedProposal[]
  readonly committed: string[]
}

function takeLine(line: JsonObject, { items, open, committed }: Taken): void {
  if (line['item'] !== undefined) {
    const item = parseItem(line['item'])
    if ('deleted' in item) throw damaged('has an item that was removed')
    items.push(item)
  } else if (line['open'] !== undefined) {
    const { proposal, payload, approvals } = objectValue(line['open'])
    open.push({
      proposal: parseProposal(proposal ?? null),
      payload: payload === undefined ? undefined : parsePayload(payload),
      approvals: (Array.isArray(approvals) ? (approvals as JsonValue[]) : []).map(parseApproval),
    })
  } else committed.push(textOf(line, 'committed'))
}

function readHeader(fields: JsonObject): Pick<TailPlace, 'frontier'> & Pick<TailPlace['place'], 'log' | 'head'> {
  const [log, head] = [objectValue(fields['log']), objectValue(fields['head'])]
  const { version } = head
  if (fields['schema'] !== SCHEMA || typeof version !== 'number') throw damaged('is of another form')
  return {
    frontier: Frontier.decode(fromBase64url(textOf(fields, 'frontier'))),
    log: { origin: textOf(log, 'origin'), genesis: parseAddress(textOf(log, 'genesis')) },
    head: { version, hash: parseAddress(textOf(head, 'hash')) },
  }
}

function* slices<T>(values: Iterable<T>): Generator<T[]> {
  let slice: T[] = []
  for (const value of values) {
    slice.push(value)
    if (slice.length < SLICE_LINES) continue
    yield slice
    slice = []
  }
  if (slice.length > 0) yield slice
}

const NEWLINE = 0x0a

function encodeLines(lines: readonly JsonObject[]): Uint8Array {
  return joinLines(lines.map((line) => canonicalJson(line)))
}

function joinLines(lines: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(lines.reduce((sum, line) => sum + line.length + 1, 0))
  let at = 0
  for (const line of lines) {
    bytes.set(line, at)
    at += line.length + 1
    bytes[at - 1] = NEWLINE
  }
  return bytes
}

function splitLines(bytes: Uint8Array): Uint8Array[] {
  const lines: Uint8Array[] = []
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf(NEWLINE, at)
    if (end < 0) throw damaged('ends in the middle of a line')
    lines.push(bytes.subarray(at, end))
    at = end + 1
  }
  return lines
}

/** The hash of everything so far. */
function chained(before: Address, slice: Uint8Array): Address {
  return addressOf(joinLines([new TextEncoder().encode(before), slice]))
}

function objectOf(line: Uint8Array): JsonObject {
  return objectValue(parseJson(line))
}

function objectValue(value: JsonValue | undefined): JsonObject {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject
  throw damaged('has a line of another form')
}

function textOf(fields: JsonObject, name: string): string {
  const value = fields[name]
  if (typeof value === 'string') return value
  throw damaged(`has no ${name}`)
}

function damaged(what: string): CairnError {
  return new CairnError('Integrity', `The view of the registry ${what}; it is made again from the log.`)
}
