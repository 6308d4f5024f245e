/** A campaign that cannot fail proves nothing: nodes that lie, each of which it must find out. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runNodeKills } from './node/campaign.ts'
import { StorageSubject } from './node/storage-subject.ts'

const KILLS_MAX = 12
const LIES = {
  'what is acknowledged is written later': new URL('./node/mutants/late-writes.ts', import.meta.url),
  'what is removed is not written at all': new URL('./node/mutants/dropped-tombstones.ts', import.meta.url),
}

for (const [lie, mutant] of Object.entries(LIES)) {
  test(`kill -9 finds a node out in which ${lie}`, async (t) => {
    const subject = new StorageSubject({ NODE_OPTIONS: `--import=${mutant.href}` })
    const complaint: unknown = await runNodeKills(subject, KILLS_MAX, 21).then(
      () => undefined,
      (error: unknown) => error,
    )
    t.diagnostic(`${lie}: ${String(complaint).split('\n')[0] ?? ''}`)
    assert.ok(complaint instanceof Error)
  })
}
