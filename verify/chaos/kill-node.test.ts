import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runNodeKills } from './node/campaign.ts'
import { StorageSubject } from './node/storage-subject.ts'

test('kill -9 of a whole node under a mixed load: nothing promised is lost, nothing removed is back', async (t) => {
  const subject = new StorageSubject()
  const { text } = await runNodeKills(subject, 4, 21)
  t.diagnostic(text)
  t.diagnostic(subject.summary())
  assert.ok(subject.ledger.promises > 0)
})
