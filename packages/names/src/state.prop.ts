import assert from 'node:assert/strict'
import { test } from 'node:test'
import { verifyMapProof } from '@cairn/tlog'
import fc from 'fast-check'
import { type Item, itemHash, itemKey, type LiveItem } from './item.ts'
import { RegistryState, rootHash, stateLeaf, statePath } from './state.ts'

interface Change {
  readonly id: string
  readonly action: 'set' | 'remove' | 'set on a wrong prev'
  readonly title: string
}

const change: fc.Arbitrary<Change> = fc.record({
  id: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
  action: fc.constantFrom('set', 'set', 'set', 'remove', 'set on a wrong prev'),
  title: fc.constantFrom('one', 'two', 'three'),
})

function itemFor({ id, action, title }: Change, current: LiveItem | undefined): Item | undefined {
  const prev = current === undefined ? null : itemHash(current)
  if (action === 'set') return { kind: 'region', id, prev, title }
  if (action === 'remove') return prev === null ? undefined : { kind: 'region', id, prev, deleted: true }
  const wrong = itemHash({ kind: 'region', id: 'never', prev })
  return { kind: 'region', id, prev: wrong, title }
}

test('the fold equals a plain map, and refuses exactly what does not follow', () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 40 }), (changes) => {
      const model = new Map<string, LiveItem>()
      let state = RegistryState.EMPTY
      for (const each of changes) {
        const item = itemFor(each, model.get(each.id))
        if (item === undefined) continue
        const applied = state.apply({ items: [item] })
        if (each.action === 'set on a wrong prev') {
          assert.ok(applied.kind === 'refused' && applied.code === 'chain_mismatch')
          assert.match(applied.detail, new RegExp(`^${itemKey(item)} has changed`))
          continue
        }
        assert.ok(applied.kind === 'ok')
        const before = state.root
        const kept = state
        state = applied.state
        assert.equal(kept.root, before, 'the state before is untouched')
        if ('deleted' in item) model.delete(each.id)
        else model.set(each.id, item)
      }
      for (const id of ['a', 'b', 'c', 'd', 'e', 'f', 'z']) assertProved(state, id, model.get(id))
      const expected = [...model.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
      assert.deepEqual(state.items(), expected)
      assert.equal(RegistryState.of(expected).root, state.root)
      assert.equal(RegistryState.of(expected.toReversed()).root, state.root, 'the order of insertion leaves no trace')
    }),
  )
})

function assertProved(state: RegistryState, id: string, expected: LiveItem | undefined): void {
  assert.deepEqual(state.get('region', id), expected)
  const found = verifyMapProof(rootHash(state.root), statePath('region', id), state.prove('region', id))
  assert.deepEqual(found, expected === undefined ? undefined : stateLeaf('region', id, itemHash(expected)))
}

test('a payload applies as a whole or not at all', () => {
  const [a, b]: LiveItem[] = [
    { kind: 'region', id: 'a', prev: null },
    { kind: 'region', id: 'b', prev: null },
  ]
  const first = RegistryState.of([a!])
  const applied = first.apply({ items: [b!, a!] })
  assert.ok(applied.kind === 'refused' && applied.detail.startsWith('region a has changed'))
  assert.equal(first.get('region', 'b'), undefined)
})

test('many items share structure and keep their own paths', () => {
  const items: LiveItem[] = Array.from({ length: 3_000 }, (_, at) => ({ kind: 'region', id: `r${at}`, prev: null }))
  let state = RegistryState.of(items)
  const { root } = state
  for (const item of items) assert.deepEqual(state.get('region', item.id), item)
  for (const item of items.slice(100)) {
    const applied = state.apply({ items: [{ kind: 'region', id: item.id, prev: itemHash(item), deleted: true }] })
    assert.ok(applied.kind === 'ok')
    state = applied.state
  }
  assert.equal(state.items().length, 100)
  assert.equal(state.root, RegistryState.of(items.slice(0, 100)).root)
  assert.notEqual(state.root, root)
})
