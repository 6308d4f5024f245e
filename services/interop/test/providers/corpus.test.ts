/** Every payload that GitHub's own project publishes as an example, signed by its own library. */
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { sign } from '@octokit/webhooks-methods'
import { isVerified, opened, secret } from './opened.ts'

interface Definition {
  readonly name: string
  readonly examples: readonly object[]
}

const definitions = createRequire(import.meta.url)('@octokit/webhooks-examples') as readonly Definition[]

test('every example of every event is verified under its event, and no two are taken for one', async (t) => {
  const provider = opened('github', [secret('corpus')])
  const keys = new Map<string, string>()
  let count = 0
  for (const { name, examples } of definitions) {
    for (const example of examples) {
      const text = JSON.stringify(example)
      const headers = [
        ['x-hub-signature-256', await sign('corpus', text)],
        ['x-github-event', name],
      ] as const
      const { event, replay, reply } = isVerified(provider.verify({ headers, body: Buffer.from(text), nowMs: 0 }))
      assert.equal(event, name)
      assert.equal(reply !== undefined, name === 'ping', name)
      assert.equal(keys.get(replay.key) ?? text, text, 'one key, one body')
      keys.set(replay.key, text)
      count += 1
    }
  }
  assert.ok(count > 300, String(count))
  t.diagnostic(`${count} payloads of ${definitions.length} events`)
})
