import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VirtualClock } from '@cairn/kernel/testing'
import { checkedConnector } from './checked-connector.ts'
import { UrlPolicy } from './url-policy.ts'

test('a connection that is not there in time is told apart from one that is refused', async () => {
  const clock = new VirtualClock()
  let timeouts = 0
  const connector = checkedConnector({
    clock,
    lookup: {
      addresses: async (host) => (host === 'hangs.example' ? await new Promise(() => {}) : await Promise.resolve([])),
    },
    policy: () => new UrlPolicy({ allow: ['hangs.example', 'nowhere.example'] }),
    closing: new AbortController().signal,
    onTimeout: () => {
      timeouts += 1
    },
  })
  const failure = async (hostname: string): Promise<Error | null> =>
    await new Promise((resolve) => {
      connector({ hostname, protocol: 'https:', port: '443' }, (...[error]) => resolve(error))
    })
  assert.match(String(await failure('nowhere.example')), /no address/)
  assert.equal(timeouts, 0)
  const hanging = failure('hangs.example')
  clock.advance(5000)
  assert.match(String(await hanging), /connecting to hangs\.example/)
  assert.equal(timeouts, 1)
})
