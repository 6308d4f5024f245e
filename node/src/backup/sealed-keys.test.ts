import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { SeededRandom } from '@cairn/kernel/testing'
import { isLeftOut, isPrivate, parseManifest } from './files.ts'
import { openKeys, sealKeys } from './sealed-keys.ts'

const KEYS = new Map([
  ['keys/token-root', Buffer.from('root')],
  ['registry/keys/log-key', Buffer.from([0, 1, 255])],
])
const PASSPHRASE = Buffer.from('correct horse')

describe('sealed keys', () => {
  const sealed = Buffer.from(sealKeys(new SeededRandom(1), KEYS, PASSPHRASE))

  test('open with their passphrase', () => {
    assert.deepEqual(openKeys(sealed, PASSPHRASE), KEYS)
    assert.ok(!sealed.includes('token-root'))
  })

  test('do not open with another passphrase, nor with a bit changed', () => {
    assert.throws(() => openKeys(sealed, Buffer.from('correct horsf')), { code: 'wrong_passphrase' })
    const body = sealed.indexOf('\n') + 1
    const changed = Buffer.from(sealed)
    changed[body] = (changed[body] ?? 0) ^ 1
    assert.throws(() => openKeys(changed, PASSPHRASE), { code: 'wrong_passphrase' })
    assert.throws(() => openKeys(sealed.subarray(0, body + 3), PASSPHRASE), { code: 'backup_damaged' })
    const weaker = Buffer.from(sealed.toString('latin1').replace('"n":131072', '"n":2'), 'latin1')
    assert.throws(() => openKeys(weaker, PASSPHRASE), /damaged/)
  })
})

test('what is private, and what a start makes again, is left out of a backup', () => {
  for (const path of ['keys/token-root', 'registry/keys/log-key', 'registry/signer.key'])
    assert.ok(isPrivate(path), path)
  for (const path of ['registry/HEAD', 'registry/trust.json', 'keystone']) assert.ok(!isPrivate(path), path)
  const out = ['storage/index/data.mdb', 'edge/cas/journal/1.seg', 'registry/HEAD.new', 'admin.sock', 'lock-edge.db']
  for (const path of out) assert.ok(isLeftOut(path), path)
  for (const path of ['storage/journal/0000000001.seg', 'index/book.json']) assert.ok(!isLeftOut(path), path)
})

test('a manifest that names a file outside of the backup is refused', () => {
  const manifest = (path: string) =>
    Buffer.from(
      JSON.stringify({
        format: 'cairn-backup/1',
        created_at: 1,
        cairn: '0.1.0',
        keys: 'none',
        drives: [],
        files: [{ path, size: 1, b3: '0'.repeat(64) }],
      }),
    )
  assert.equal(parseManifest(manifest('storage/a..b')).files.length, 1)
  for (const path of ['../x', '/etc/passwd', 'a/../../x', 'a/..', '', './x'])
    assert.throws(() => parseManifest(manifest(path)), { code: 'backup_damaged' }, path)
  assert.throws(() => parseManifest(Buffer.from('{')), { code: 'backup_damaged' })
})
