import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { runNodeKills } from './campaign.ts'
import { StorageSubject } from './storage-subject.ts'

/** A campaign that never falls into one of these proves nothing about it. */
const PHASES = ['put', 'stream', 'upload', 'delete', 'hold', 'release', 'compaction, copying', 'compaction, switching']

/** Kills a node with storage many times on one data directory; every phase must have been hit. */
export async function checkStorageKills(t: TestContext, kills: number, seed: number): Promise<void> {
  const subject = new StorageSubject()
  const { fellInto, text } = await runNodeKills(subject, kills, seed)
  t.diagnostic(text)
  t.diagnostic(subject.summary())
  for (const phase of PHASES) assert.ok((fellInto.get(phase) ?? 0) > 0, `no kill fell into ${phase}`)
}
