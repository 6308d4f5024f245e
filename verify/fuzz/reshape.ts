/**
 * Inputs made by what they spell, not by their bytes: a value of another kind anywhere in it, a part left out, doubled, or
 * taken from another input; then written again as the format has it. Bytes changed at random seldom get past a reader that
 * knows one spelling only.
 */
import { attempt, bytesOf } from './inputs.ts'
import { type Mutator, mutate } from './mutate.ts'

/** How a format spells values. */
export interface Shape {
  /** Refuses what spells nothing. */
  readonly read: (input: Uint8Array) => unknown
  /** Refuses what cannot be spelled. */
  readonly write: (value: unknown) => Uint8Array
}

const STEPS_MAX = 4
const NUMBERS: readonly number[] = [0, 1, -1, 255, 256, 65_536, 2 ** 31, 2 ** 53 - 1, 1.5]

/** One more input, from what `input` spells and, now and then, `other`; nothing where either spells nothing. */
export function reshape(
  mutator: Mutator,
  { read, write }: Shape,
  input: Uint8Array,
  other: Uint8Array,
): Uint8Array | undefined {
  const steps = 1 + Math.floor(mutator.random.next() * STEPS_MAX)
  const made = attempt(() => {
    const [value, source] = [read(input), read(other)]
    return write(Array.from({ length: steps }).reduce((last) => changeValue(mutator, last, source), value))
  })
  return made === undefined || made.length > mutator.bytesMax ? undefined : made
}

function changeValue(mutator: Mutator, value: unknown, other: unknown): unknown {
  const { random, words } = mutator
  const at = (length: number): number => Math.floor(random.next() * length)
  const one = (items: readonly unknown[]): unknown => items[at(items.length)] ?? null
  const word = (): string => new TextDecoder().decode(words[at(words.length)] ?? new Uint8Array())
  let before = at(partsOf(value).length)
  return walk(value)

  /** Every part is met once, in one order; the one whose turn it is comes back changed. */
  function walk(part: unknown): unknown {
    before -= 1
    if (before === -1) return changed(part)
    if (Array.isArray(part)) return part.map(walk)
    if (isMap(part)) return Object.fromEntries(Object.entries(part).map(([name, member]) => [name, walk(member)]))
    return part
  }

  function changed(part: unknown): unknown {
    switch (at(6)) {
      case 0:
        return one([null, true, '', word(), one(NUMBERS), [], {}, new Uint8Array(32)])
      case 1:
        return one(partsOf(one([value, other])))
      default:
        return inside(part)
    }
  }

  function inside(part: unknown): unknown {
    if (Array.isArray(part)) return inList(part)
    if (isMap(part)) return inMap(part)
    if (typeof part === 'number') return at(2) === 0 ? part + at(5) - 2 : one(NUMBERS)
    if (typeof part === 'string')
      return new TextDecoder().decode(mutate(mutator, bytesOf(part), bytesOf(String(one(partsOf(other))))))
    if (part instanceof Uint8Array) return mutate(mutator, part, new Uint8Array())
    return part !== true
  }

  function inList(list: readonly unknown[]): unknown[] {
    const place = at(list.length)
    switch (at(3)) {
      case 0:
        return list.toSpliced(place, 1)
      case 1:
        return list.toSpliced(place, 0, one(list))
      default:
        return [...list, one(partsOf(other))]
    }
  }

  function inMap(map: Readonly<Record<string, unknown>>): Record<string, unknown> {
    const members = Object.entries(map)
    const place = at(members.length)
    const [name, member] = members[place] ?? [word(), null]
    switch (at(3)) {
      case 0:
        return Object.fromEntries(members.toSpliced(place, 1))
      case 1:
        return Object.fromEntries([...members.toSpliced(place, 1), [word(), member]])
      default:
        return { ...map, [at(2) === 0 ? name : word()]: one(partsOf(other)) }
    }
  }
}

/** The value itself first, then whatever is in it. */
function partsOf(value: unknown): unknown[] {
  if (Array.isArray(value)) return [value, ...value.flatMap(partsOf)]
  return isMap(value) ? [value, ...Object.values(value).flatMap(partsOf)] : [value]
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array)
}
