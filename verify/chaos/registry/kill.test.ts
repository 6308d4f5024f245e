import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runKills, tell } from './kill.ts'

test('kill -9 of a registry at points of a commit: what was said is true, nothing twice', async (t) => {
  const report = await runKills(['entries-synced', 'checkpoint-written', undefined], 1)
  t.diagnostic(tell(report))
  assert.equal(report.at.get('entries-synced'), 1)
})
