import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressOf } from '@cairn/wire'
import fc from 'fast-check'
import { chooseCopies, placementOrder } from './placement-core.ts'

interface Target {
  readonly id: string
  readonly node: string
  readonly domain: string
  readonly region: string
  readonly weight: number
}

const object = fc.uint8Array({ minLength: 1, maxLength: 8 }).map((bytes) => addressOf(bytes))

/** Nodes, each with one to three drives as the node itself sees them; the others see one. */
const targets = fc
  .uniqueArray(
    fc.record({ node: fc.string({ minLength: 1, maxLength: 6 }), region: fc.constantFrom('', 'eu', 'us') }),
    {
      minLength: 1,
      maxLength: 6,
      selector: ({ node }) => node,
    },
  )
  .chain((nodes) =>
    fc.integer({ min: 1, max: 3 }).map((drives) =>
      nodes.flatMap(({ node, region }, at): Target[] =>
        Array.from({ length: at === 0 ? drives : 1 }, (_, drive) => {
          const id = `${node}/${drive}`
          return { id, node, domain: id, region, weight: 1 }
        }),
      ),
    ),
  )

test('an order has every target once, whatever order they were given in', () => {
  fc.assert(
    fc.property(object, targets, (id, all) => {
      const order = placementOrder(id, all)
      assert.deepEqual(new Set(order), new Set(all))
      assert.deepEqual(placementOrder(id, all.toReversed()), order)
    }),
  )
})

test('copies go to distinct regions first, then to distinct nodes, then to further drives', () => {
  fc.assert(
    fc.property(object, targets, (id, all) => {
      const order = placementOrder(id, all)
      const nodes = new Set(all.map(({ node }) => node)).size
      const regions = new Set(all.map(({ region }) => region)).size
      assert.equal(new Set(order.slice(0, nodes).map(({ node }) => node)).size, nodes)
      assert.equal(new Set(order.slice(0, regions).map(({ region }) => region)).size, regions)
    }),
  )
})

test('a target that goes changes nothing about the order of the others', () => {
  fc.assert(
    fc.property(object, targets, fc.nat(), (id, all, at) => {
      const gone = all[at % all.length]!
      fc.pre(all.every(({ region }) => region === gone.region))
      fc.pre(all.filter(({ node }) => node === gone.node).length === 1)
      const left = all.filter((target) => target !== gone)
      const before = placementOrder(id, all).filter((target) => target !== gone)
      assert.deepEqual(placementOrder(id, left), before)
    }),
  )
})

test('the copies chosen are the first usable ones, no two in one domain', () => {
  fc.assert(
    fc.property(object, targets, fc.integer({ min: 1, max: 4 }), (id, all, copies) => {
      const shared = all.map((target, at) => ({ ...target, domain: String(at % 2) }))
      const chosen = chooseCopies(placementOrder(id, shared), copies, () => true)
      const domains = new Set(shared.map(({ domain }) => domain)).size
      assert.equal(chosen.length, Math.min(copies, domains))
      assert.equal(new Set(chosen.map(({ domain }) => domain)).size, chosen.length)
    }),
  )
})

test('a target of twice the weight takes about twice as much', () => {
  const all = ['a', 'b', 'c'].map((id) => ({
    id,
    node: id,
    domain: id,
    region: '',
    weight: 1,
    nodeWeight: id === 'a' ? 2 : 1,
  }))
  const first = Array.from({ length: 4000 }, (_, at) => placementOrder(addressOf(Buffer.from(String(at))), all)[0]?.id)
  const share = first.filter((id) => id === 'a').length / first.length
  assert.ok(share > 0.46 && share < 0.54, String(share))
})
