import assert from 'node:assert/strict'
import { test } from 'node:test'
import { attenuateToken, createKeyring, joinTokens, mintAdminToken, mintToken, toHex } from '@cairn/wire'
import { Capture } from '../test/capture.ts'
import { main } from './main.ts'

const RING = createKeyring('kid1', new Uint8Array(32).fill(7))
const TID = new Uint8Array(16).fill(1)
const STORAGE = mintToken(RING, { tid: TID, aud: 'storage', scopes: ['storage:write', 'storage:delete'] })
const BUNDLE = joinTokens([mintAdminToken(RING, { tid: TID, aud: 'edge' }), STORAGE])

async function cairn(line: string, input = ''): Promise<{ code: number; data: string; words: string }> {
  const terminal = new Capture({ input })
  const code = await main(line.split(' '), terminal)
  return { code, data: terminal.data, words: terminal.words }
}

test('inspect says for whom, what, under which conditions and until when, and shows no secret', async () => {
  const narrowed = attenuateToken(STORAGE, [
    { kind: 'exp', at: 1_900_000_000 },
    { kind: 'exp', at: 1_800_000_000 },
    { kind: 'nbf', at: 1_700_000_000 },
    { kind: 'path_prefix', prefix: '/o' },
    { kind: 'method', methods: ['PUT', 'GET'] },
    { kind: 'scope_in', scopes: ['storage:write'] },
    { kind: 'bytes_le', bytes: 1024 * 1024 },
    { kind: 'ip_cidr', block: '10.0.0.0/8' },
  ])
  const { code, data } = await cairn('token inspect -', `${narrowed}\n`)
  assert.equal(code, 0)
  assert.deepEqual(data.split('\n'), [
    'for     storage',
    'allows  storage:delete, storage:write',
    'only    from 2023-11-14T22:13:20.000Z on',
    'only    paths below /o',
    'only    the methods GET, PUT',
    'only    the scopes storage:write',
    'only    bodies up to 1MiB',
    'only    clients in 10.0.0.0/8',
    'until   2027-01-15T08:00:00.000Z',
    `tid     ${toHex(TID)}`,
    'kid     kid1',
    '',
  ])
  const json = await cairn('token inspect - --json', narrowed)
  // The signature is the end of the text; nothing of it may show in any form.
  for (const shown of [data, json.data]) assert.ok(!shown.includes(narrowed.slice(-20)))
})

test('inspect shows every token of a bundle, and an end that has come', async () => {
  const old = attenuateToken(STORAGE, [{ kind: 'exp', at: 1_600_000_000 }])
  const { data, words } = await cairn(
    'token inspect -',
    joinTokens([mintAdminToken(RING, { tid: TID, aud: 'edge' }), old]),
  )
  assert.match(data, /^for {5}edge\nallows {2}everything\nuntil {3}it is revoked\n[\s\S]*\n\nfor {5}storage\n/)
  assert.equal(words, '… the token for storage has expired\n')
})

test('what is not a token is refused', async () => {
  for (const text of ['hello', `${STORAGE}x`, '']) {
    const { code, data, words } = await cairn('token inspect -', text)
    assert.equal(code, 2, text)
    assert.equal(data, '')
    assert.match(words, /Next: {2}npx cairn token inspect --help/)
  }
})

test('attenuate only adds conditions, to one token or to each of a bundle', async () => {
  const one = await cairn(`token attenuate ${STORAGE} --path /o --method put --max-bytes 1KiB --scope storage:write`)
  assert.equal(one.code, 0, one.words)
  const expected = attenuateToken(STORAGE, [
    { kind: 'scope_in', scopes: ['storage:write'] },
    { kind: 'path_prefix', prefix: '/o' },
    { kind: 'method', methods: ['PUT'] },
    { kind: 'bytes_le', bytes: 1024 },
  ])
  assert.equal(one.data, `${expected}\n`)
  const both = await cairn(`token attenuate ${BUNDLE} --ttl 1h --json`)
  const { tokens } = (JSON.parse(both.data) as { result: { tokens: { for: string; expires: string }[] } }).result
  assert.deepEqual(
    tokens.map((token) => token.for),
    ['edge', 'storage'],
  )
  for (const { expires } of tokens) assert.match(expires, /^\d{4}-/)
})

test('attenuate picks one token out of a bundle, and refuses to do nothing', async () => {
  assert.equal((await cairn(`token attenuate ${BUNDLE} --for storage`)).data, `${STORAGE}\n`)
  assert.equal((await cairn(`token attenuate ${BUNDLE} --for index`)).code, 3)
  const nothing = await cairn(`token attenuate ${STORAGE}`)
  assert.equal(nothing.code, 2)
  assert.match(nothing.words, /Say what to take away/)
})

test('sizes, times, scopes and prefixes that make no sense are refused with the form they have', async () => {
  for (const [option, words] of [
    ['--ttl soon', /"soon" is not a duration/],
    ['--max-bytes 1MB', /"1MB" is not a byte size/],
    ['--scope storage:wrte', /did you mean storage:write\?/],
    ['--path o', /path_prefix has no valid value/],
  ] as const) {
    const ran = await cairn(`token attenuate ${STORAGE} ${option}`)
    assert.equal(ran.code, 2, option)
    assert.match(ran.words, words)
  }
})

test('a scope that is none is answered with those of its service', async () => {
  const terminal = new Capture()
  assert.equal(await main(['token', 'mint', '--for', 'storage', '--scope', 'storage:look'], terminal), 2)
  assert.match(terminal.words, /There is no scope storage:look; those of storage are storage:write, /)
})
