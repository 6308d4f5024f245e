/** What rules ask for beside messages: proposals and forwards, applied by the service itself. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RegistryClient } from '@cairn/clients'
import { CairnError, Watch } from '@cairn/kernel'
import type { OutgoingRequest, Transport } from '@cairn/transport'
import { addressOf } from '@cairn/wire'
import { TestService } from './harness.ts'

const PUSH = '{"ref":"refs/heads/main"}'
const ADDRESS = addressOf(Buffer.from(PUSH))

// oxlint-disable-next-line unicorn/no-thenable -- a word of the configuration
const rule = (then: string) => ({ provider: 'github' as const, event: 'push', then })

/** A registry that takes proposals, once it is there. */
function proposals(failures: number): { readonly opened: Map<string, unknown>; asked: number; client: RegistryClient } {
  const opened = new Map<string, unknown>()
  const state = { opened, asked: 0 }
  const client: Partial<RegistryClient> = {
    name: async () => await Promise.resolve(undefined),
    auditHead: async () => await Promise.resolve(0),
    proposeOnce: async (id, payload) => {
      state.asked += 1
      await Promise.resolve()
      if (state.asked <= failures) throw new CairnError('Timeout', 'The registry does not answer.')
      opened.set(id, payload)
    },
  }
  return Object.assign(state, { client: client as RegistryClient })
}

test('a webhook whose rule proposes opens one proposal of its body, however often it comes and the registry fails', async () => {
  const registry = proposals(2)
  const service = await TestService.start({
    registry: registry.client,
    config: { rules: [rule('propose:site@1.0')] },
  })
  await service.github(PUSH)
  await service.github(PUSH, { delivery: 'again' })
  await service.sleep(100_000)
  assert.equal(registry.asked, 3)
  const [payload] = [...registry.opened.values()]
  assert.equal(registry.opened.size, 1)
  assert.match(JSON.stringify(payload), new RegExp(ADDRESS))
  assert.deepEqual(service.parts.mailbox.facts(), { live: 0, dead: 0, leased: 0 })
  await service.stop()
})

test('a drain does not wait for a registry that does not answer: the proposal is opened in the next life', async () => {
  const registry = proposals(0)
  const away: RegistryClient = {
    ...registry.client,
    name: async (_name, _version, { signal }) => await new Watch(undefined).until(() => false, { signal }),
  }
  const config = { rules: [rule('propose:site@1.0')] }
  const service = await TestService.start({ registry: away, config })
  await service.github(PUSH)
  await service.sleep(100)
  assert.equal(service.parts.mailbox.facts().leased, 1)
  const begun = service.platform.clock.now()
  const next = await service.restart({ registry: registry.client, config })
  assert.ok(next.platform.clock.now() - begun < 1000)
  await next.sleep(100)
  assert.equal(registry.opened.size, 1)
  await next.stop()
})

test('what cannot be applied is a dead letter after ten deliveries, and is applied when it is put back', async () => {
  const registry = proposals(10)
  const service = await TestService.start({
    registry: registry.client,
    config: { rules: [rule('propose:site@1.0')] },
  })
  await service.github(PUSH)
  await service.sleep(400_000)
  assert.deepEqual([registry.asked, service.parts.mailbox.facts().dead], [10, 1])
  assert.deepEqual((await service.ask('POST', '/mailbox/@propose/replay', { body: {} })).fields(), { replayed: 1 })
  await service.sleep(1000)
  assert.equal(registry.opened.size, 1)
  await service.stop()
})

test('a webhook whose rule forwards is sent on, and waits while there is a brownout', async () => {
  const sent: OutgoingRequest[] = []
  const outside: Transport = {
    request: async (request) => {
      sent.push(request)
      const body = { cancel: () => undefined, [Symbol.asyncIterator]: nothing }
      return await Promise.resolve({ status: 200, headers: {}, body })
    },
    close: async () => await Promise.resolve(),
  }
  const service = await TestService.start({
    outside,
    config: {
      rules: [rule('forward:https://receiver.example/hook')],
      forward: { secrets: [{ env: 'FORWARD_SECRET' }] },
    },
  })
  await service.github(PUSH)
  await service.sleep(1000)
  assert.equal(sent.length, 1)
  assert.deepEqual(Buffer.from(sent[0]!.body as Uint8Array).toString(), PUSH)
  assert.match(sent[0]!.headers['webhook-id'] ?? '', /^[0-9A-Z]{26}$/)
  service.storage.latencyMs = 600
  for (let n = 0; n < 24; n += 1) await service.github(`{"n":${n}}`)
  await service.sleep(1500)
  service.storage.latencyMs = 0
  assert.equal(service.parts.pressure.isBrown, true)
  await service.sleep(6000)
  const before = sent.length
  await service.github('{"n":"in the brownout"}')
  await service.sleep(2000)
  assert.equal(sent.length, before)
  await service.sleep(150_000)
  assert.equal(sent.length, 26)
  await service.stop()
})

async function* nothing(): AsyncGenerator<Uint8Array> {}
