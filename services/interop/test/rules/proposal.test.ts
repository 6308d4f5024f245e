/** The effect `propose`, against a registry that keeps what it is told. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NamedItem, RegistryClient } from '@cairn/clients'
import { CairnError, Deadline } from '@cairn/kernel'
import { virtualRuntime } from '@cairn/kernel/testing'
import { itemHash, type Payload, parsePayload } from '@cairn/names'
import { addressOf } from '@cairn/wire'
import { applyProposal, proposalIdOf } from '../../src/tasks/dispatcher.ts'

const EFFECT = { messageId: 'm1', name: 'site@1.0', address: addressOf(Buffer.from('body')), note: 'github push' }
const context = { deadline: Deadline.after(virtualRuntime().clock, 1000) }

class KeepingRegistry implements Pick<RegistryClient, 'name' | 'proposeOnce'> {
  readonly open = new Map<string, Payload>()
  current: NamedItem | undefined
  /** The next answer is lost after the proposal was opened. */
  losesAnswer = false

  async name(): Promise<NamedItem | undefined> {
    return await Promise.resolve(this.current)
  }

  async proposeOnce(id: string, payload: Payload): Promise<void> {
    parsePayload(payload)
    if (!this.open.has(id)) this.open.set(id, payload)
    await Promise.resolve()
    if (!this.losesAnswer) return
    this.losesAnswer = false
    throw new CairnError('Timeout', 'no answer')
  }
}

test('a new name has nothing before it, a name that means something is replaced by its hash', async () => {
  const registry = new KeepingRegistry()
  const first = await applyProposal(registry, EFFECT, context)
  assert.deepEqual(registry.open.get(first), {
    items: [{ kind: 'name', id: 'site@1.0', prev: null, manifest: EFFECT.address, mutable: true }],
    note: 'github push',
  })
  const item = { kind: 'name', id: 'site@1.0', prev: null, manifest: EFFECT.address } as const
  registry.current = { item, version: 3 }
  const second = await applyProposal(registry, { ...EFFECT, messageId: 'm2' }, context)
  assert.equal(registry.open.get(second)!.items[0]!.prev, itemHash(item))
})

test('one message opens one proposal for one name, whatever was lost on the way and however the name moved', async () => {
  const registry = new KeepingRegistry()
  registry.losesAnswer = true
  await assert.rejects(applyProposal(registry, EFFECT, context))
  registry.current = { item: { kind: 'name', id: 'site@1.0', prev: null, manifest: EFFECT.address }, version: 1 }
  const id = await applyProposal(registry, EFFECT, context)
  assert.equal(id, proposalIdOf(EFFECT))
  assert.match(id, /^p_[0-9a-f]{32}$/)
  assert.equal(registry.open.size, 1)
  await applyProposal(registry, { ...EFFECT, name: 'site@2.0' }, context)
  await applyProposal(registry, { ...EFFECT, messageId: 'm2' }, context)
  assert.equal(registry.open.size, 3)
})
