import assert from 'node:assert/strict'
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { CairnError } from '@cairn/kernel'
import { parseSignerKey } from '@cairn/names'
import { systemCrypto } from '@cairn/platform'
import { fromBase64url } from '@cairn/wire'
import { Capture } from '../test/capture.ts'
import { readKeyFile, signWith } from './key.ts'
import { main } from './main.ts'

let directory = ''
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cairn-key-'))
})
after(async () => await rm(directory, { recursive: true }))

const path = (name: string): string => join(directory, name)

async function cairn(args: readonly string[], environment: Record<string, string> = {}) {
  const terminal = new Capture({ environment })
  const code = await main(args, terminal)
  return { code, data: terminal.data, words: terminal.words }
}

test('a new key is for its owner alone, and standard output is its public half', async () => {
  const made = await cairn(['key', 'new', path('alice.key'), '--id', 'alice'])
  assert.equal(made.code, 0, made.words)
  const signer = JSON.parse(made.data) as { id: string; algo: string; key: string }
  assert.deepEqual([Object.keys(signer), signer.id, signer.algo], [['id', 'algo', 'key'], 'alice', 'ed25519'])
  assert.equal(
    made.words,
    `✔ signer alice (ed25519), its private key in ${path('alice.key')}; the line above goes into a signer set\n`,
  )
  assert.equal((await stat(path('alice.key'))).mode & 0o777, 0o600)
  const { seed } = parseSignerKey(await readFile(path('alice.key')))
  for (const shown of [made.data, made.words]) assert.ok(!shown.includes(Buffer.from(seed).toString('base64url')))
})

test('keys of both kinds sign what their public half verifies', async () => {
  const message = new TextEncoder().encode('to be signed')
  for (const algo of ['ed25519', 'ml-dsa-44'] as const) {
    assert.equal((await cairn(['key', 'new', path(algo), '--algo', algo])).code, 0)
    const { key, warnings } = await readKeyFile(path(algo))
    assert.deepEqual(warnings, [])
    const signature = signWith(key, message)
    assert.ok(systemCrypto.verify(algo, fromBase64url(key.signer.key), message, signature))
    assert.match(key.signer.id, /^key-[0-9a-f]{12}$/)
  }
})

test('a key that is there is never overwritten', async () => {
  await cairn(['key', 'new', path('mine.key')])
  const before = await readFile(path('mine.key'), 'utf8')
  const again = await cairn(['key', 'new', path('mine.key')])
  assert.equal(again.code, 8)
  assert.match(again.words, /stays as it is[\s\S]*Next: {2}npx cairn key new FILE\n$/)
  assert.equal(await readFile(path('mine.key'), 'utf8'), before)
})

test('without a file it goes to the configuration of the user, and not to the working directory', async () => {
  const here = await readdir('.')
  assert.equal((await cairn(['key', 'new'], { XDG_CONFIG_HOME: path('config') })).code, 0)
  assert.equal((await stat(path('config/cairn/signer.key'))).mode & 0o777, 0o600)
  assert.equal((await stat(path('config/cairn'))).mode & 0o777, 0o700)
  // A relative path in the environment counts as none.
  assert.equal((await cairn(['key', 'new'], { XDG_CONFIG_HOME: 'config', HOME: path('home') })).code, 0)
  assert.ok((await stat(path('home/.config/cairn/signer.key'))).isFile())
  assert.deepEqual(await readdir('.'), here)
})

test('an id that no signer set takes is refused before anything is written', async () => {
  const refused = await cairn(['key', 'new', path('never.key'), '--id', 'no spaces'])
  assert.equal(refused.code, 2)
  assert.ok(!(await readdir(directory)).includes('never.key'))
})

test('a damaged key file is an error and shows nothing of what it holds; an open one is pointed out', async () => {
  await cairn(['key', 'new', path('whole.key'), '--id', 'carol'])
  const text = await readFile(path('whole.key'), 'utf8')
  const { seed } = JSON.parse(text) as { seed: string }
  const flipped = `${seed.slice(0, -2)}${seed.at(-2) === 'A' ? 'B' : 'A'}${seed.slice(-1)}`
  for (const bad of [text.replace(seed, flipped), text.slice(0, 40), 'nonsense', text.replace('ed25519', 'rot13')]) {
    await writeFile(path('bad.key'), bad)
    await assert.rejects(readKeyFile(path('bad.key')), (error: CairnError) => {
      assert.ok(error instanceof CairnError)
      assert.deepEqual([error.kind, error.code], ['Integrity', 'key_damaged'])
      assert.ok(!error.message.includes(seed.slice(0, 8)))
      return true
    })
  }
  await assert.rejects(readKeyFile(path('absent.key')), { code: 'no_key' })
  await chmod(path('whole.key'), 0o644)
  assert.match((await readKeyFile(path('whole.key'))).warnings.join(), /chmod 600/)
})
