import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { recordBytes } from '../journal/format.ts'
import type { RecordPlace } from '../journal/segment.ts'
import { type IndexEntry, Keydir, SALT_WORDS } from './keydir-core.ts'

const KINDS = [1, 2, 63]
const IDS = 60

/** Few shards and many collisions of homes: most ids begin with the same bits. */
function idOf(number: number): Uint8Array {
  const id = new Uint8Array(32)
  id[1] = (number % 3) << 4
  id[31] = number
  id[20] = number * 7
  return id
}

function saltOf(seed: number): Uint32Array {
  let state = seed | 1
  return Uint32Array.from({ length: SALT_WORDS }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0
    return state ^ (state >>> 15)
  })
}

interface Known extends IndexEntry {
  isMarked: boolean
}

/** The same rules in a map. */
class PlainIndex {
  readonly entries = new Map<string, Known>()

  apply(name: string, entry: IndexEntry): boolean {
    const known = this.entries.get(name)
    const isNewer =
      known === undefined ||
      entry.lsn > known.lsn ||
      (entry.lsn === known.lsn && entry.place.segment > known.place.segment)
    if (isNewer) this.entries.set(name, { ...entry, isMarked: true })
    return isNewer
  }

  at(name: string, place: RecordPlace): Known | undefined {
    const known = this.entries.get(name)
    return known?.place.segment === place.segment && known.place.offset === place.offset ? known : undefined
  }
}

const place = fc.record({ segment: fc.integer({ min: 1, max: 4 }), offset: fc.nat(20).map((at) => at * 8 + 128) })
const key = fc.record({ kind: fc.constantFrom(...KINDS), number: fc.nat(IDS - 1) })
const operation = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ tag: fc.constant('apply' as const), key, place, lsn: fc.nat(30), gone: fc.boolean() }),
  },
  { weight: 2, arbitrary: fc.record({ tag: fc.constant('move' as const), key, place }) },
  { weight: 2, arbitrary: fc.record({ tag: fc.constant('remove' as const), key }) },
  { weight: 2, arbitrary: fc.record({ tag: fc.constant('mark' as const), key }) },
  { weight: 1, arbitrary: fc.record({ tag: fc.constant('round' as const) }) },
)

function lengthOf(lsn: number): number {
  return lsn * 1_000
}

function check(keydir: Keydir, plain: PlainIndex): void {
  assert.equal(keydir.size, plain.entries.size)
  const uses = new Map<number, { liveBytes: number; tombstoneBytes: number }>()
  for (const kind of KINDS) {
    for (let number = 0; number < IDS; number += 1) {
      const known = plain.entries.get(`${kind} ${number}`)
      const found = keydir.get(kind, idOf(number))
      const { isMarked = false, ...entry } = known ?? {}
      assert.deepEqual(found, known === undefined ? undefined : entry)
      assert.equal(keydir.isMarked(kind, idOf(number)), isMarked)
      if (known === undefined) continue
      const use = uses.get(known.place.segment) ?? { liveBytes: 0, tombstoneBytes: 0 }
      const bytes = recordBytes(known.place.length)
      use.liveBytes += bytes
      if (known.isTombstone) use.tombstoneBytes += bytes
      uses.set(known.place.segment, use)
    }
    for (const onlyUnmarked of [false, true]) {
      const expected = [...plain.entries]
        .filter(([name, each]) => name.startsWith(`${kind} `) && !each.isTombstone && !(onlyUnmarked && each.isMarked))
        .map(
          ([
            ,
            {
              lsn,
              place: { segment, offset },
            },
          ]) => `${lsn} ${segment} ${offset}`,
        )
      const found = [...keydir.live(kind, { onlyUnmarked })].flat()
      assert.deepEqual(
        found.map((each) => `${each.lsn} ${each.place.segment} ${each.place.offset}`).sort(),
        expected.sort(),
      )
    }
  }
  for (const segment of [1, 2, 3, 4]) {
    assert.deepEqual({ ...keydir.use(segment) }, uses.get(segment) ?? { liveBytes: 0, tombstoneBytes: 0 })
  }
}

test('whatever is applied, moved, removed and marked, the table says what a map says', () => {
  const property = fc.property(fc.array(operation, { maxLength: 300 }), fc.integer(), (operations, seed) => {
    const keydir = new Keydir(saltOf(seed))
    const plain = new PlainIndex()
    for (const each of operations) {
      if (each.tag === 'round') {
        for (let from = 0; keydir.settleColours(from, 100); from += 100);
        keydir.flipColour()
        for (const known of plain.entries.values()) known.isMarked = false
        continue
      }
      const name = `${each.key.kind} ${each.key.number}`
      const { kind } = each.key
      const id = idOf(each.key.number)
      const known = plain.entries.get(name)
      if (each.tag === 'apply') {
        const entry = { lsn: each.lsn, isTombstone: each.gone, place: { ...each.place, length: lengthOf(each.lsn) } }
        assert.equal(keydir.apply({ kind, id, ...entry }), plain.apply(name, entry))
      } else if (each.tag === 'move') {
        // Half of them from where it lies.
        const from = each.place.offset % 16 === 0 ? (known?.place ?? each.place) : { ...each.place, length: 0 }
        const at = plain.at(name, { length: 0, ...from })
        const to = { segment: 4, offset: 8_000, length: at?.place.length ?? 0 }
        assert.equal(keydir.move(kind, id, { length: 0, ...from }, to), at !== undefined)
        if (at !== undefined) plain.entries.set(name, { ...at, place: to })
      } else if (each.tag === 'remove') {
        const from = known?.place ?? { segment: 1, offset: 128, length: 0 }
        assert.equal(keydir.remove(kind, id, from), known !== undefined)
        plain.entries.delete(name)
      } else {
        assert.equal(keydir.mark(kind, id), known !== undefined && !known.isMarked)
        if (known !== undefined) known.isMarked = true
      }
    }
    check(keydir, plain)
  })
  fc.assert(property, { numRuns: 300 })
})

test('the largest numbers a journal may have go in and come out', () => {
  const keydir = new Keydir(saltOf(5))
  const entry = {
    lsn: 2 ** 40 - 1,
    isTombstone: true,
    place: { segment: 2 ** 24 - 1, offset: (2 ** 32 - 1) * 8, length: 2 ** 24 - 1 },
  }
  keydir.apply({ kind: 63, id: new Uint8Array(32).fill(255), ...entry })
  assert.deepEqual(keydir.get(63, new Uint8Array(32).fill(255)), entry)
  assert.equal(
    keydir.apply({ kind: 64, id: new Uint8Array(32), ...entry }),
    false,
    'no kind that a slot has no room for',
  )
})

test('shards have little to spare, whether or not their entries were expected', () => {
  for (const isExpected of [true, false]) {
    const keydir = new Keydir(saltOf(7))
    const count = 100_000
    if (isExpected) keydir.expect(count)
    const id = new Uint8Array(32)
    const view = new DataView(id.buffer)
    for (let number = 0; number < count; number += 1) {
      view.setUint32(0, Math.imul(number, 2_654_435_761))
      view.setUint32(8, number)
      keydir.applyParts(1, id, 0, false, 1, 128 + number * 8, 100, number)
    }
    assert.equal(keydir.size, count)
    // Few entries in each shard: what a shard has to spare weighs most here.
    assert.ok(keydir.bytes / count < (isExpected ? 60 : 50), `${keydir.bytes / count} bytes`)
  }
})
