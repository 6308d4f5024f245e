import assert from 'node:assert/strict'
import { test } from 'node:test'
import { renderConfigReference } from './reference.ts'
import { declaredKeys } from './setting.ts'
import { SAMPLE } from './test/sample-schemas.ts'

test('the reference has one row for each key, with everything a reader needs', () => {
  const lines = renderConfigReference(SAMPLE).split('\n')
  for (const { key } of declaredKeys(SAMPLE)) {
    assert.equal(lines.filter((line) => line.startsWith(`| \`${key}\` |`)).length, 1, key)
  }
  assert.ok(
    lines.includes(
      '| `storage.ingress.max_body_bytes` | `CAIRN__STORAGE__INGRESS__MAX_BODY_BYTES` | `"1MiB"` | live | `limits.max_body_bytes` | The largest body. |',
    ),
  )
  assert.ok(
    lines.includes(
      '| `storage.token` | `CAIRN__STORAGE__TOKEN` or `CAIRN__STORAGE__TOKEN_FILE` |  | live |  | What peers present. |',
    ),
  )
  assert.ok(lines.includes('## storage') && lines.includes('## edge'))
})
