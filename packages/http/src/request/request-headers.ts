/**
 * The header fields of a request, read in one pass. The pipeline's own fields get a slot each; the rest
 * stay in the raw list until a reader asks.
 */

/** Fields of which a second one would let two readers of the message see two different requests. */
const SINGLE = [
  'host',
  'content-length',
  'transfer-encoding',
  'authorization',
  'range',
  'if-match',
  'if-none-match',
  'if-modified-since',
  'if-unmodified-since',
  'if-range',
  'deadline',
  'request-timeout',
  'content-type',
  'content-encoding',
  'expect',
] as const

const REPEATABLE = [
  'x-corr-id',
  'origin',
  'sec-fetch-site',
  'sec-fetch-dest',
  'access-control-request-method',
  'x-forwarded-for',
  'upgrade',
] as const

type SlotName = (typeof SINGLE)[number] | (typeof REPEATABLE)[number]

const SLOT_NAMES: readonly SlotName[] = [...SINGLE, ...REPEATABLE]

const FORWARDED_SLOT = SLOT_NAMES.indexOf('x-forwarded-for')

/** `x-corr-id` as `X-Corr-Id`: the other spelling that is common. */
function titleCase(name: string): string {
  return name.replace(/(^|-)[a-z]/g, (start) => start.toUpperCase())
}

/** Slot by field name, in both common spellings; other spellings are lowered first. */
const SLOTS: ReadonlyMap<string, number> = new Map(
  SLOT_NAMES.flatMap((name, slot) => [
    [name, slot],
    [titleCase(name), slot],
  ]),
)

/** By length and first letter: whether a name can be one of ours at all. Most of what browsers send cannot. */
const CANDIDATES: ReadonlySet<number> = new Set(SLOT_NAMES.map(shapeOf))

function shapeOf(name: string): number {
  // The bit by which ASCII letters differ in case is left out.
  return name.length * 256 + (name.charCodeAt(0) & 0xdf)
}

export class RequestHeaders {
  readonly raw: readonly string[]
  readonly #slots: (string | undefined)[] = new Array<string | undefined>(SLOT_NAMES.length)
  /** The first field that came twice and must not; the request is refused for it. */
  readonly repeated: string | undefined

  constructor(raw: readonly string[]) {
    this.raw = raw
    let repeated: string | undefined
    for (let at = 0; at + 1 < raw.length; at += 2) {
      const name = raw[at] ?? ''
      if (!CANDIDATES.has(shapeOf(name))) continue
      const slot = SLOTS.get(name) ?? SLOTS.get(name.toLowerCase())
      if (slot === undefined) continue
      const before = this.#slots[slot]
      if (before === undefined) this.#slots[slot] = raw[at + 1]
      // One list over several fields: a proxy may append a field of its own behind the client's.
      else if (slot === FORWARDED_SLOT) this.#slots[slot] = `${before}, ${raw[at + 1] ?? ''}`
      else if (slot < SINGLE.length) repeated ??= SLOT_NAMES[slot]
    }
    this.repeated = repeated
  }

  /** One of the pipeline's own fields. */
  slot(name: SlotName): string | undefined {
    return this.#slots[SLOT_OF[name]]
  }

  /** The first field of this name (lower case), of any kind. */
  get(name: string): string | undefined {
    const { raw } = this
    for (let at = 0; at + 1 < raw.length; at += 2) {
      const field = raw[at] ?? ''
      if (field.length === name.length && (field === name || field.toLowerCase() === name)) return raw[at + 1]
    }
    return undefined
  }

  /** Every field of this name (lower case), in order. */
  all(name: string): string[] {
    const values: string[] = []
    for (let at = 0; at + 1 < this.raw.length; at += 2) {
      if (this.raw[at]?.toLowerCase() === name) values.push(this.raw[at + 1] ?? '')
    }
    return values
  }
}

const SLOT_OF = Object.fromEntries(SLOT_NAMES.map((name, slot) => [name, slot])) as Readonly<Record<SlotName, number>>
