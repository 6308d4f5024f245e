/** `hook ls|test` are about the node that is asked, whatever is configured where the command runs. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { FakeNode, problem } from './fake-node.ts'

const PAST = Date.parse('2020-01-01T00:00:00Z')
const AUDIT = { lines: [], next: 1, first: 1, count: 0, head: `b3:${'0'.repeat(64)}`, anchor: null }

let node: FakeNode
before(async () => {
  node = await FakeNode.open()
  node.replies.set('/audit', () => ({ status: 200, body: AUDIT }))
  const providers = [
    { provider: 'github', enabled: true, secrets: [{ id: 'env:ELSEWHERE', not_after: null }] },
    { provider: 'slack', enabled: true, secrets: [{ id: 'file:/run/secrets/slack', not_after: PAST }] },
    { provider: 'stripe', enabled: false, secrets: [] },
    { provider: 'standard', enabled: true, secrets: [{ id: 'file:/run/secrets/none', not_after: null }] },
  ]
  node.replies.set('/webhooks', () => ({ status: 200, body: { providers, generic: {}, rules: [] } }))
})
after(async () => await node[Symbol.asyncDispose]())

test('hook ls shows what the node has, and warns where no secret counts any more', async () => {
  const { code, data, words } = await node.run('hook', 'ls')
  assert.equal(code, 0, words)
  assert.deepEqual(data.split('\n').slice(0, 3), [
    'github    enabled  env:ELSEWHERE (no end)  nothing accepted',
    'slack     enabled  file:/run/secrets/slack (ended 2020-01-01T00:00:00.000Z)  nothing accepted',
    'stripe    off      no secret  nothing accepted',
  ])
  assert.match(words, /… no secret of slack counts any more: everything it sends is refused\n/)
  assert.match(words, /3 of 4 enabled/)
})

test('hook test says which secret of the node it would need here, and sends nothing without it', async () => {
  node.replies.set('/webhooks/github', () => assert.fail('it was sent'))
  const missing = { github: 'env:ELSEWHERE', standard: 'file:/run/secrets/none' }
  for (const [provider, place] of Object.entries(missing)) {
    const { code, words } = await node.run('hook', 'test', provider)
    assert.equal(code, 3, words)
    assert.ok(words.includes(`The secret at ${place} of the node is not to be had here.`), words)
    assert.match(words, /Next: {2}npx cairn hook ls/)
  }
  const over = await node.run('hook', 'test', 'slack')
  assert.equal(over.code, 3)
  assert.match(over.words, /No secret of slack counts now/)
  const off = await node.run('hook', 'test', 'stripe')
  assert.equal(off.code, 8)
  assert.match(off.words, /stripe is not enabled in the running node/)
})

test('a node that does not let this be asked says so', async () => {
  node.replies.set('/webhooks', () => problem(403, 'SCOPE_MISMATCH', 'The token has no interop:admin.'))
  const { code, words } = await node.run('hook', 'ls')
  assert.equal(code, 7, words)
  assert.match(words, /no interop:admin/)
})
