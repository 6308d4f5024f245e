import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import { createAuditHeadLeaf, encodePin, encodeTrust, parsePin } from '@cairn/names'
import { verifierKey } from '@cairn/tlog'
import { Capture } from '../test/capture.ts'
import { manifest, SampleLog, sampleSigner } from '../test/sample-log.ts'
import { main } from './main.ts'
import { pinPath } from './registry-pins.ts'

const ALICE = sampleSigner(1, 'alice')
const BOB = sampleSigner(2, 'bob')

let directory = ''
let state = ''
let log: SampleLog
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cairn-proof-'))
})
after(async () => await rm(directory, { recursive: true }))
beforeEach(async () => {
  state = await mkdtemp(join(directory, 'state-'))
  log = new SampleLog([ALICE, BOB], 2)
  log.setName('site@1.0', 'a', [ALICE, BOB])
  await writeFile(path('trust.json'), encodeTrust(log.trust))
  await writeFile(path('site.proof'), await log.nameProof('site@1.0'))
})

const path = (name: string): string => join(directory, name)

async function verify(...args: readonly string[]) {
  const terminal = new Capture({ environment: { XDG_STATE_HOME: state } })
  const code = await main(['verify-proof', ...args], terminal)
  return { code, data: terminal.data, words: terminal.words }
}

const TRUSTED = (): string[] => [path('site.proof'), '--trust', path('trust.json')]

test('with trust a proof is verified, and every line says what that rests on', async () => {
  const { code, data, words } = await verify(...TRUSTED())
  assert.equal(code, 0, words)
  const { origin, genesis } = log.log
  const says = `site@1.0 means ${manifest('a')} at version 1`
  assert.deepEqual(data.split('\n'), [
    'verdict      verified',
    `log          ${origin}`,
    `says         ${says}`,
    `checked      checkpoint_signature  ${origin} signed the checkpoint of size 5: ${origin} (ed25519).`,
    `             genesis               The history begins with ${genesis}.`,
    '             inclusion             2 commits are in the tree of the checkpoint, in order.',
    '             signer_sets           The signers are those of genesis, and the state root names the last.',
    '             approvals             Version 1 and every earlier commit in the proof has its quorum; alice, bob approved it.',
    '             current_head          The last leaf of the checkpoint says that version 1 is HEAD.',
    `             state                 The state of version 1 proves that ${says.replace(' at version 1', '')}.`,
    'not checked  witnesses             A split view is not excluded: the trust file has no witness policy.',
    '             age                   How old the checkpoint is was not asked.',
    '             pin                   No earlier checkpoint of this log is known here to compare with.',
    '             fold                  That the state root is the sum of all versions is the word of the log; reading the whole log checks it.',
    '',
  ])
  assert.equal(words, `✔ ${says}; remembered in ${pinPath({ XDG_STATE_HOME: state }, origin)}: size 5\n`)
})

test('without trust it says NOT verified and exits 4', async () => {
  const { code, data, words } = await verify(path('site.proof'))
  assert.equal(code, 4)
  assert.match(data, /^verdict {6}consistent, NOT verified\n/)
  assert.match(words, /^✖ Consistent, NOT verified: .*\n {2}Next: {2}npx cairn verify-proof \S+ --trust FILE\n/)
  assert.deepEqual(await readdir(state), [], 'nothing is remembered of it')
})

test('what was verified once is trusted from then on, and only forward', async () => {
  await verify(...TRUSTED())
  assert.equal((await verify(path('site.proof'))).code, 0)
  log.append(createAuditHeadLeaf(log.head, { head: manifest('x'), count: 1 }))
  await writeFile(path('later.proof'), await log.nameProof('site@1.0'))
  const unlinked = await verify(path('later.proof'))
  assert.equal(unlinked.code, 4)
  assert.match(unlinked.words, /Ask for a consistency proof from size 5 to size 6[\s\S]*name show NAME --proof FILE/)
  await writeFile(path('linked.proof'), await log.nameProof('site@1.0', 5))
  const linked = await verify(path('linked.proof'))
  assert.equal(linked.code, 0, linked.words)
  assert.match(linked.data, /checked .*\n(?:.*\n)* {13}pin +The checkpoint continues the one of size 5/)
  const older = await verify(...TRUSTED())
  assert.equal(older.code, 4)
  assert.match(older.words, /has size 5; one of size 6 was seen before/)
})

test('another log, another genesis and another key are each refused with their reason', async () => {
  const { trust } = log
  const stranger = sampleSigner(9, 'mallory')
  const key = verifierKey(trust.origin, 'ed25519', Buffer.from(stranger.signer.key, 'base64url'))
  const genesis = trust.genesis.replace(/.$/, (digit) => (digit === '0' ? '1' : '0')) as typeof trust.genesis
  const cases: [string, Uint8Array][] = [
    ['other_origin', encodeTrust({ ...trust, origin: `elsewhere.example/${trust.genesis.slice(3, 19)}` })],
    ['other_genesis', encodeTrust({ ...trust, genesis })],
    ['checkpoint_signature', encodeTrust({ ...trust, logKeys: [key] })],
  ]
  for (const [code, bytes] of cases) {
    await writeFile(path('other.json'), bytes)
    const refused = await verify(path('site.proof'), '--trust', path('other.json'), '--json')
    assert.equal(refused.code, 4, code)
    const { ok, result, error } = JSON.parse(refused.data) as {
      ok: boolean
      result: { verdict: string }
      error: { code: string }
    }
    assert.deepEqual([ok, result.verdict, error.code], [false, 'refused', code])
  }
})

test('a flipped byte anywhere is exit code 4', async () => {
  const bytes = await readFile(path('site.proof'))
  for (let at = 0; at < bytes.length; at += Math.ceil(bytes.length / 40)) {
    const bad = Buffer.from(bytes)
    bad[at]! ^= 1
    await writeFile(path('bad.proof'), bad)
    const { code, words } = await verify(path('bad.proof'), '--trust', path('trust.json'))
    assert.equal(code, 4, `byte ${at}`)
    assert.match(words, /bad\.proof is no proof: /)
  }
})

test('an age limit is held against the time the log states', async () => {
  const { code, words } = await verify(...TRUSTED(), '--max-age', '1h')
  assert.equal(code, 4)
  assert.match(words, /states the time/)
})

test('a file that is not there is exit code 3, a trust file that is none is 2', async () => {
  assert.equal((await verify(path('absent.proof'))).code, 3)
  assert.equal((await verify(path('site.proof'), '--trust', path('site.proof'))).code, 2)
})

test('a damaged memory of the log is said, not ignored', async () => {
  await verify(...TRUSTED())
  const pinned = pinPath({ XDG_STATE_HOME: state }, log.log.origin)
  const pin = parsePin(await readFile(pinned))
  await writeFile(pinned, 'nonsense')
  const damaged = await verify(...TRUSTED())
  assert.equal(damaged.code, 4)
  assert.match(damaged.words, /remembers what was seen of this log, is damaged/)
  const origin = `elsewhere.example/${pin.trust.genesis.slice(3, 19)}`
  await writeFile(pinned, encodePin({ ...pin, trust: { ...pin.trust, origin } }))
  assert.match((await verify(...TRUSTED())).words, /is damaged/, 'the memory of another log')
})
