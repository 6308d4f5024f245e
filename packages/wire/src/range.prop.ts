/** Range headers against npm's `range-parser`: 100 000 of them, every difference explained by a section of RFC 9110. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import parseRange from 'range-parser'
import { type ByteRange, evaluateRange } from './range.ts'

/** The oracle's verdict, with the unit judged as its own callers do. */
function oracle(header: string, size: number): 'whole' | 'unsatisfiable' | ByteRange[] {
  if (!header.startsWith('bytes=')) return 'whole'
  const ranges = parseRange(size, header)
  if (ranges === -2) return 'whole'
  return ranges === -1 ? 'unsatisfiable' : ranges.map(({ start, end }) => ({ first: start, last: end }))
}

function ours(header: string, size: number): 'whole' | 'unsatisfiable' | ByteRange[] {
  const outcome = evaluateRange(header, size)
  switch (outcome.kind) {
    case 'whole':
    case 'unsatisfiable':
      return outcome.kind
    case 'single':
      return [outcome.range]
    case 'multiple':
      return [...outcome.ranges]
  }
}

interface Difference {
  readonly section: string
  readonly why: string
  readonly applies: (members: readonly string[], header: string, size: number) => boolean
  /** What the section makes of it, where it says so outright. */
  readonly verdict?: 'whole'
}

const isSuffixPastSize = (member: string, size: number): boolean => {
  const suffix = /^-(\d+)$/.exec(member.trim())?.[1]
  return suffix !== undefined && BigInt(suffix) > BigInt(size)
}
const isReversed = (member: string): boolean => {
  const [, first, last] = /^(\d+)-(\d+)$/.exec(member.trim()) ?? []
  return first !== undefined && last !== undefined && BigInt(last) < BigInt(first)
}
const touches = (members: readonly string[], size: number): boolean => {
  const taken = members.flatMap((member) => {
    const parsed = oracle(`bytes=${isSuffixPastSize(member, size) ? '0-' : member.trim()}`, size)
    return typeof parsed === 'string' ? [] : parsed
  })
  return taken.some((a, i) => taken.some((b, j) => i < j && a.first <= b.last && b.first <= a.last))
}

const DIFFERENCES: readonly Difference[] = [
  {
    section: '14.1',
    why: 'range unit names are case-insensitive; the oracle wants lower case',
    applies: (_members, header) => /^bytes=/i.test(header) && !header.startsWith('bytes='),
  },
  {
    section: '5.6.1.2',
    why: 'empty list members are ignored; the oracle refuses the whole set',
    applies: (members) => members.some((member) => member.trim() === ''),
  },
  {
    section: '14.1.1',
    why: 'no white space inside a range or after "="; the oracle trims it',
    applies: (members) =>
      /^[ \t]+[^ \t]/.test(members[0] ?? '') || members.some((member) => /\d[ \t]+-|-[ \t]+\d/.test(member)),
    verdict: 'whole',
  },
  {
    section: '14.1.1',
    why: 'last before first makes the set invalid, so it is ignored; the oracle drops only that range',
    applies: (members) => members.some(isReversed),
    verdict: 'whole',
  },
  {
    section: '14.1.2',
    why: 'a suffix longer than the representation is all of it; the oracle calls it unsatisfiable',
    applies: (members, _header, size) => members.some((member) => isSuffixPastSize(member, size)),
  },
  {
    section: '14.2',
    why: 'a server may ignore a set of many or overlapping ranges; the oracle leaves that to its caller',
    applies: (members, _header, size) => members.length > 16 || touches(members, size),
    verdict: 'whole',
  },
]

const sizes = fc.oneof(fc.constantFrom(0, 1, 2, 10, 1000), fc.nat(2000), fc.nat(2 ** 30), fc.constant(2 ** 40))

function positions(size: number): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 6, arbitrary: fc.nat(Math.min(size + 3, 2 ** 31 - 1)).map(String) },
    { weight: 2, arbitrary: fc.constantFrom(size - 1, size, size + 1).map((at) => String(Math.max(0, at))) },
    { weight: 1, arbitrary: fc.constantFrom('00', '007', '9007199254740993', '99999999999999999999') },
  )
}

function memberOf(size: number): fc.Arbitrary<string> {
  const position = positions(size)
  const ordered = fc
    .tuple(fc.nat(2 ** 31 - 1), fc.nat(60))
    .map(([a, length]) => `${a % (size + 1)}-${(a % (size + 1)) + length}`)
  return fc.oneof(
    { weight: 12, arbitrary: ordered },
    { weight: 3, arbitrary: position.map((first) => `${first}-`) },
    { weight: 3, arbitrary: position.map((last) => `-${last}`) },
    { weight: 2, arbitrary: fc.tuple(position, position).map(([first, last]) => `${first}-${last}`) },
    {
      weight: 1,
      arbitrary: fc.constantFrom('', '-', 'a-b', '1', '1-2-3', '0x1-2', '1.5-', '--1', '1 -2', '1- 2', '1e3-', '+1-2'),
    },
  )
}

const headers = sizes.chain((size) => {
  const members = fc.oneof(
    { weight: 6, arbitrary: fc.array(memberOf(size), { minLength: 1, maxLength: 3 }) },
    { weight: 1, arbitrary: fc.array(memberOf(size), { minLength: 0, maxLength: 20 }) },
  )
  const unit = fc.oneof(
    { weight: 30, arbitrary: fc.constant('bytes=') },
    { weight: 1, arbitrary: fc.constantFrom('Bytes=', 'BYTES=', 'bytes= ', 'bytes =', 'octets=', 'bytes', '', '=') },
  )
  const comma = fc.constantFrom(',', ',', ',', ', ', ' , ', '\t,')
  return fc
    .tuple(unit, members, comma)
    .map(([prefix, list, separator]) => ({ header: prefix + list.join(separator), size }))
})

test('100 000 Range headers: ours and range-parser agree, or a section of RFC 9110 says why not', (t) => {
  const counts = new Map<Difference, number>()
  let agreed = 0
  const check = ({ header, size }: { header: string; size: number }): void => {
    const [mine, theirs] = [ours(header, size), oracle(header, size)]
    if (JSON.stringify(mine) === JSON.stringify(theirs)) {
      agreed++
      return
    }
    const members = header.slice(header.indexOf('=') + 1).split(',')
    const reasons = DIFFERENCES.filter((difference) => difference.applies(members, header, size))
    assert.ok(reasons.length > 0, `${JSON.stringify(header)} of ${size}: ${JSON.stringify({ mine, theirs })}`)
    const demanded = reasons.find((reason) => reason.verdict !== undefined)
    if (demanded !== undefined) assert.equal(mine, demanded.verdict, `${header} of ${size}: ${demanded.why}`)
    for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1)
  }
  fc.assert(fc.property(headers, check), { numRuns: 100_000 })
  for (const difference of DIFFERENCES) {
    const count = counts.get(difference) ?? 0
    t.diagnostic(`RFC 9110 §${difference.section}, ${difference.why}: ${count}`)
    assert.ok(count > 0, `no header showed: ${difference.why}`)
  }
  t.diagnostic(`agreed on ${agreed} of 100 000`)
  assert.ok(agreed > 50_000, `agreed on only ${agreed}`)
})
