import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { renderConfigReference } from './reference.ts'
import { declaredKeys, section, setting } from './setting.ts'
import { SAMPLE } from './test/sample-schemas.ts'

test('the reference has one row for each key, with everything a reader needs', () => {
  const lines = renderConfigReference(SAMPLE).split('\n')
  for (const { key } of declaredKeys(SAMPLE)) {
    assert.equal(lines.filter((line) => line.startsWith(`| \`${key}\` |`)).length, 1, key)
  }
  assert.ok(
    lines.includes(
      '| `storage.ingress.max_body_bytes` | `"1MiB"` | live | `limits.max_body_bytes` | The largest body. |',
    ),
  )
  assert.ok(lines.includes('| `storage.token` | | live | | What peers present. (secret) |'))
  assert.ok(lines.includes('## storage') && lines.includes('## edge') && !lines.includes('## Common settings'))
})

test('a setting that services share stands once, with the default of each', () => {
  const service = (byDefault: number) =>
    section({ max_rps: setting(z.int(), { reload: 'live', default: byDefault, does: 'Requests a second.' }) })
  const [a, b, c, d] = [service(0), service(0), service(500), section({})]
  const everywhere = renderConfigReference({ a, b, c }).split('\n')
  assert.ok(everywhere.includes('| `SERVICE.max_rps` | a, b: `0`; c: `500` | live | | Requests a second. |'))
  assert.ok(!everywhere.some((line) => line.includes('`a.max_rps`')))
  const some = renderConfigReference({ a, b, c: b, d }).split('\n')
  assert.ok(some.includes('| `SERVICE.max_rps` (a, b, c) | `0` | live | | Requests a second. |'))
})
