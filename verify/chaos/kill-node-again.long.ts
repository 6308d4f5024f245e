import { test } from 'node:test'
import { checkStorageKills } from './node/storage-kills.ts'

test('kill -9 of a whole node under a mixed load, another hundred times on another data directory', async (t) => {
  await checkStorageKills(t, 105, 2000)
})
