import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom, VirtualClock } from '@cairn/kernel/testing'
import type { ConsoleAssets } from './modules.ts'
import { ConsolePage } from './page.ts'
import { ConsoleSessions } from './sessions.ts'

test('the files are read once, from when a code says that somebody is about to open the page', async () => {
  const read: string[] = []
  const page = new ConsolePage(async ({ modules }) => {
    read.push(...modules.map(({ pathname }) => pathname.replace(/.*\//, '')))
    return await Promise.reject<ConsoleAssets>(new TypeError('no such file'))
  })
  const sessions = new ConsoleSessions({
    clock: new VirtualClock(),
    random: new SeededRandom(1),
    keys: { adminBundle: () => '', verifier: () => assert.fail() },
    onCode: () => page.prepare(),
  })
  assert.deepEqual(read, [], 'not before')
  sessions.mintCode()
  assert.deepEqual(read, ['app.ts', 'theme.ts'])
  sessions.mintCode()
  await assert.rejects(page.file('0', 'x', {} as never), /no such file/, 'whoever opens the page learns why not')
  assert.equal(read.length, 2)
})
