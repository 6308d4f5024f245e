import assert from 'node:assert/strict'
import { test } from 'node:test'
import { virtualRuntime } from '@cairn/kernel/testing'
import { MemoryDisk, openDataDirectory, type Platform, systemCrypto } from '@cairn/platform'
import { firstSecrets, resetTokens, SECRET_REMEDIES, TokenKeys } from './token-keys.ts'

const PATH = 'data'
const TID = 'ab'.repeat(16)

function memoryPlatform(): Platform {
  const runtime = virtualRuntime()
  const part = { ...runtime, disk: new MemoryDisk(runtime, 1024 * 1024), crypto: systemCrypto }
  return part as Partial<Platform> as Platform
}

/** One life of a node's keys. */
async function withKeys<T>(platform: Platform, use: (keys: TokenKeys) => Promise<T> | T): Promise<T> {
  const secrets = firstSecrets(platform, undefined)
  await using data = await openDataDirectory(platform, { path: PATH, secrets, remedies: SECRET_REMEDIES })
  return await use(TokenKeys.open(platform, data))
}

const isRevoked = (keys: TokenKeys): boolean => keys.verifier('storage').isRevoked(TID)

test('the list of revoked tokens is made with the data directory, and a missing one is an error that says what to do', async () => {
  const platform = memoryPlatform()
  await withKeys(platform, async (keys) => await keys.revoke(TID))
  assert.ok(await withKeys(platform, isRevoked))
  await platform.disk.unlink(`${PATH}/keys/revoked-tokens`)
  await assert.rejects(withKeys(platform, isRevoked), (error: Error) => {
    assert.match(error.message, /revoked-tokens is missing; restore .*keys\/revoked-tokens.*cairn token reset/)
    return true
  })
  await assert.rejects(platform.disk.open(`${PATH}/keys/revoked-tokens`, { mode: 'read' }), { kind: 'NotFound' })
})

test('a reset takes the roots away with the list: nothing that was revoked is valid again', async () => {
  const platform = memoryPlatform()
  const before = await withKeys(platform, (keys) => keys.describe())
  await platform.disk.unlink(`${PATH}/keys/revoked-tokens`)
  await resetTokens(platform, PATH)
  const after = await withKeys(platform, (keys) => keys.describe())
  assert.equal(after.length, 1)
  assert.notEqual(after[0]?.kid, before[0]?.kid)
  assert.equal(await withKeys(platform, isRevoked), false)
})

test('a reset is for a data directory that is there', async () => {
  await assert.rejects(resetTokens(memoryPlatform(), 'nowhere'), { code: 'no_data' })
})
