import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KnownCopy } from '../targets/target.ts'
import { judge, repairBudget, type TargetFacts } from './repair-core.ts'

interface Named extends TargetFacts {
  readonly name: string
}

const OBJECT: KnownCopy = { tag: 'object', version: 5, isProved: false }
const ABSENT: KnownCopy = { tag: 'absent' }
const GONE: KnownCopy = { tag: 'tombstone', version: 6 }

function target(name: string, known: KnownCopy | undefined, more: Partial<Named> = {}): Named {
  return { name, node: name, domain: name, isWritable: known !== undefined, isExpired: false, known, ...more }
}

/** The steps as words. */
function stepsOf(order: readonly Named[], node = 'a', copies = 2): string[] {
  return judge(order, { node, copies }).steps.map((step) => {
    if (step.tag === 'hold') return `hold at ${step.at.name}`
    if (step.tag !== 'copy') return `${step.tag} ${step.version} at ${step.at.name}`
    return `${step.isUrgent ? 'urgent ' : ''}${step.from.name}→${step.to.name}`
  })
}

test('a copy that is missing is made by the first that has one, urgently if it is the last', () => {
  const order = [target('a', OBJECT), target('b', ABSENT), target('c', ABSENT)]
  assert.deepEqual(stepsOf(order), ['urgent a→b'])
  assert.deepEqual(stepsOf(order, 'b'), [], 'only the first holder makes it')
  assert.deepEqual(stepsOf(order, 'a', 3), ['urgent a→b', 'urgent a→c'])
  assert.deepEqual(stepsOf([target('a', OBJECT), target('b', ABSENT), target('c', OBJECT)], 'a', 3), ['a→b'])
})

test('a copy moves to where it belongs; where it is already enough, nothing is done', () => {
  assert.deepEqual(stepsOf([target('b', ABSENT), target('a', OBJECT), target('c', OBJECT)]), ['a→b'])
  assert.deepEqual(stepsOf([target('a', OBJECT), target('b', OBJECT), target('c', ABSENT)]), [])
})

test('a copy too many is let go of by its own node, once all that belong there were read and hashed', () => {
  const proved: KnownCopy = { tag: 'object', version: 5, isProved: true }
  const home = [target('b', proved), target('c', proved)]
  assert.deepEqual(stepsOf([...home, target('a', OBJECT)]), ['drop 5 at a'])
  assert.deepEqual(stepsOf([...home, target('d', OBJECT)]), [])
  assert.deepEqual(stepsOf([target('b', proved), target('c', OBJECT), target('a', OBJECT)]), [])
  const older: KnownCopy = { ...proved, version: 4 }
  assert.deepEqual(stepsOf([target('b', proved), target('c', older), target('a', OBJECT)]), [])
})

test('a node gives its own holds to the other copies, whatever their versions; until then none is let go of', () => {
  const proved: KnownCopy = { tag: 'object', version: 5, isProved: true }
  const held: KnownCopy = { ...proved, owners: ['mailbox'] }
  const both: KnownCopy = { ...proved, owners: ['mailbox', 'registry'] }
  assert.deepEqual(stepsOf([target('a', proved), target('b', held)], 'b'), ['hold at a'])
  assert.deepEqual(stepsOf([target('a', held), target('b', both)], 'b'), ['hold at a'])
  assert.deepEqual(stepsOf([target('a', proved), target('b', held)]), [], 'what another tells of holds nothing here')
  assert.deepEqual(stepsOf([target('a', held), target('b', { ...proved, version: 4 })]), ['a→b', 'hold at b'])
  const other: KnownCopy = { ...proved, owners: ['somebody'] }
  assert.deepEqual(stepsOf([target('a', held), target('b', other)]), ['hold at b'], 'as many owners are not the same')
  const order = [target('b', proved), target('c', proved), target('a', held)]
  assert.deepEqual(stepsOf(order), ['hold at b', 'hold at c'], 'not let go of')
  assert.deepEqual(stepsOf([target('b', held), target('c', held), target('a', held)]), ['drop 5 at a'])
})

test('whoever does not answer is passed over for the next; two drives of one domain are one copy', () => {
  assert.deepEqual(stepsOf([target('a', OBJECT), target('b', undefined), target('c', ABSENT)]), ['urgent a→c'])
  const order = [target('a', OBJECT), target('a2', OBJECT, { domain: 'a' }), target('c', ABSENT)]
  assert.deepEqual(stepsOf(order), ['urgent a→c'])
})

test('a copy from before the newest put is made anew, by the first that has the newest; it counts all the while', () => {
  const older: KnownCopy = { tag: 'object', version: 4, isProved: true }
  const order = [target('a', older), target('b', OBJECT), target('c', ABSENT)]
  assert.deepEqual(stepsOf(order, 'b'), ['b→a'])
  assert.deepEqual(stepsOf(order, 'a'), [])
  assert.equal(judge(order, { node: 'b', copies: 2 }).copies, 2)
  assert.deepEqual(stepsOf([target('a', older, { isWritable: false }), target('b', OBJECT)], 'b'), [])
})

test('a share of shards is no copy: the newest put says which of the two the object is made of', () => {
  const share: KnownCopy = { tag: 'object', version: 4, isProved: true, isStriped: true }
  assert.deepEqual(stepsOf([target('a', OBJECT), target('b', share), target('c', ABSENT)]), ['urgent a→b'])
  const proved: KnownCopy = { tag: 'object', version: 5, isProved: true }
  const home = [target('b', proved), target('c', proved)]
  assert.deepEqual(stepsOf([...home, target('a', share)]), ['drop 4 at a'], 'one that is left over')
  const shares = [target('a', { ...share, version: 6 }), target('b', { ...share, version: 6 }), target('c', proved)]
  assert.equal(judge(shares, { node: 'a', copies: 2 }).proved, 2)
})

test('a delete goes to whoever has an older copy, and to enough others to remember it', () => {
  assert.deepEqual(stepsOf([target('a', GONE), target('b', OBJECT), target('c', ABSENT)]), ['delete 6 at b'])
  assert.deepEqual(stepsOf([target('a', GONE), target('b', ABSENT), target('c', ABSENT)]), ['delete 6 at b'])
  assert.deepEqual(stepsOf([target('a', GONE), target('b', GONE), target('c', ABSENT)]), [])
})

test('a put as new as a delete wins, and an older one loses', () => {
  const newer: KnownCopy = { tag: 'object', version: 6, isProved: true }
  assert.deepEqual(stepsOf([target('a', newer), target('b', GONE)]), ['urgent a→b'])
})

test('a delete is settled once nobody who may come back has an older copy', () => {
  const settled = (order: readonly Named[]): boolean => judge(order, { node: 'a', copies: 2 }).isSettled
  assert.equal(settled([target('a', GONE), target('b', ABSENT)]), true)
  assert.equal(settled([target('a', GONE), target('b', OBJECT)]), false)
  assert.equal(settled([target('a', GONE), target('b', undefined)]), false)
  assert.equal(settled([target('a', GONE), target('b', undefined, { isExpired: true })]), true)
})

test('only copies that were read and hashed are proved', () => {
  const proved: KnownCopy = { tag: 'object', version: 5, isProved: true }
  const verdict = judge([target('a', proved), target('b', OBJECT)], { node: 'a', copies: 2 })
  assert.deepEqual([verdict.copies, verdict.proved], [2, 1])
})

test('what is saved up, what comes in and one run paid for in part are within the budget', () => {
  for (const budget of [64 * 1024, 1024 * 1024, 50 * 1024 * 1024]) {
    const { rate, burst } = repairBudget(budget)
    assert.ok(rate > 0 && burst > 0 && rate + burst <= budget)
  }
})
