/** Tasks that fail: once, again and again, and because the drive does. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RegistryClient } from '@cairn/clients'
import { isProblem } from '../../../verify/virtual/answer.ts'
import { TestService } from './harness.ts'

const PUSH = '{"ref":"refs/heads/main"}'
// oxlint-disable-next-line unicorn/no-thenable -- a word of the configuration
const RULES = [{ provider: 'github' as const, event: 'push', then: 'propose:site@1.0' }]

function proposing(): { readonly opened: Set<string>; readonly client: RegistryClient } {
  const opened = new Set<string>()
  const client: Partial<RegistryClient> = {
    name: async () => await Promise.resolve(undefined),
    auditHead: async () => await Promise.resolve(0),
    proposeOnce: async (id) => {
      opened.add(id)
      await Promise.resolve()
    },
  }
  return { opened, client: client as RegistryClient }
}

/** The next so many leases of effects throw what no handler expects. */
function breakLeases({ parts }: TestService, times: number): void {
  const { mailbox } = parts
  const lease = mailbox.lease.bind(mailbox)
  let left = times
  mailbox.lease = async (topic, options) => {
    if (topic !== '@propose' || left === 0) return await lease(topic, options)
    left -= 1
    throw new TypeError('The proposer crashed.')
  }
}

test('a task that crashes is started again, is counted, and goes on where it was', async () => {
  const { opened, client } = proposing()
  const service = await TestService.start({ registry: client, config: { rules: RULES } })
  breakLeases(service, 3)
  await service.github(PUSH)
  await service.sleep(20_000)
  assert.equal(service.metric('tasks_panicked_total', { kind: 'proposer' }), 3)
  assert.equal(service.metric('service_restarts_total', { kind: 'proposer' }), 3)
  assert.equal(opened.size, 1)
  await service.stop()
})

test('a task that crashes without end stops the service in order: what was accepted is there in its next life', async () => {
  const fatal: string[] = []
  const { opened, client } = proposing()
  const options = { registry: client, config: { rules: RULES } }
  const service = await TestService.start({ ...options, onFatal: (task) => void fatal.push(task) })
  assert.equal((await service.github(PUSH)).status, 202)
  await service.sleep(100)
  breakLeases(service, Number.POSITIVE_INFINITY)
  assert.equal((await service.github('{"ref":"refs/heads/other"}')).status, 202)
  await service.sleep(60_000)
  assert.deepEqual(fatal, ['proposer'])
  isProblem(await service.github('{"ref":"refs/heads/late"}'), 503, 'draining')
  const next = await service.restart(options)
  await next.sleep(1000)
  assert.equal(opened.size, 2)
  const again = await next.github('{"ref":"refs/heads/other"}')
  assert.deepEqual([again.status, again.fields()['duplicate']], [202, true])
  await next.stop()
})

test('a drive that fails for minutes stops no task: effects wait, and are applied when it is back', async () => {
  const { opened, client } = proposing()
  const registry: RegistryClient = { ...client }
  registry.proposeOnce = async () => await Promise.reject(new TypeError('not yet'))
  const service = await TestService.start({ registry, config: { rules: RULES } })
  await service.github(PUSH)
  await service.sleep(1000)
  registry.proposeOnce = client.proposeOnce
  service.machine.faults.rates = { 'io-error': 1 }
  await service.sleep(180_000)
  assert.equal(service.metric('tasks_panicked_total', { kind: 'proposer' }), 0)
  service.machine.faults.rates = {}
  await service.sleep(60_000)
  assert.equal(opened.size, 1)
  await service.stop()
})
