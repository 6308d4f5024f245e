import { test } from 'node:test'
import { checkStorageKills } from './node/storage-kills.ts'

test('kill -9 of a whole node under a mixed load, a hundred times on one data directory', async (t) => {
  await checkStorageKills(t, 105, 1000)
})
