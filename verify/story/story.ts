/**
 * The whole story, by people who have nothing but `cairn` and `curl`: a site is put, named by two of three signers,
 * proved, served, opened in a browser, followed by a version that a push at GitHub proposes; then a bit flips, the
 * power goes, and everything acknowledged is still there, and in a backup on another machine too.
 */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { cp, open } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { after, before, test } from 'node:test'
import { addressOf } from '@cairn/wire'
import { hasCurl } from '../../node/test/curl.ts'
import { findChromium, openChromium } from '../browser/chromium.ts'
import { type Deployment, oneProcess, Testbed } from './testbed.ts'

const SECRET = 'kept by GitHub and by us'
export const ENVIRONMENT = { GITHUB_WEBHOOK_SECRET: SECRET }

const SITE = 'site@1.0'
const NEXT = 'site@1.1'
const INDEX = '/edge/assets/n/site@1.0/index.html'
const PICTURE_BYTES = 300_000
/** Three chunks and a piece, none like another. */
const PICTURE = Buffer.from(Array.from({ length: PICTURE_BYTES / 10 }, (_, at) => `${at}`.padStart(9, '.')).join('\n'))
/** Takes longer to send than to notice. */
const BIG_BYTES = 24 << 20
const PAGE = `<!doctype html><meta charset="utf-8"><title>loading</title>
<link rel="stylesheet" href="style.css"><h1>A site</h1><script src="app.js"></script>`

interface Definition {
  readonly name: string
  readonly examples: readonly object[]
}

const EXAMPLES = createRequire(import.meta.url)('@octokit/webhooks-examples') as readonly Definition[]
/** A payload as GitHub sent it once. */
const PUSH = Buffer.from(JSON.stringify(EXAMPLES.find(({ name }) => name === 'push')?.examples[0]))

interface Stage {
  readonly testbed: Testbed
  readonly deployment: Deployment
  /** The address of the site, once it is put. */
  site: string
}

interface Act {
  readonly title: string
  readonly play: (stage: Stage) => Promise<void>
  readonly skip?: string | false
}

const chromium = findChromium()

const ACTS: readonly Act[] = [
  {
    title: 'three people make keys that stay with them; a node starts that believes any two',
    play: found,
  },
  {
    title: 'a site is put, and every byte of it comes back',
    play: put,
  },
  {
    title: 'two of the three name it; one is not enough',
    play: name,
  },
  {
    title: 'somebody who trusts nobody checks the proof; a forged one is worth nothing',
    play: prove,
  },
  {
    title: 'the edge serves it, whole, in ranges, and not at all to who has it',
    play: serve,
  },
  {
    title: 'a browser opens it on its own origin',
    play: browse,
    skip: chromium === undefined && 'tool absent: Chromium; verify/browser/install installs it',
  },
  {
    title: 'a push at GitHub, signed by it, proposes the next version; people decide',
    play: follow,
  },
  {
    title: 'a bit flips on the drive: the scrub names the chunk, nobody is given the wrong byte, a put heals it',
    play: flipBitAndScrub,
  },
  {
    title: 'the power goes in the middle of a put: all that was acknowledged is there again',
    play: killAndRestart,
  },
  {
    title: 'a backup of the running node is restored elsewhere; its registry only reads until it is adopted',
    play: backUpAndRestore,
  },
]

/** Plays the story on machines that somebody else brings; each act is a test, and they are in order. */
export function playStory(bring: (testbed: Testbed) => Deployment): void {
  if (!hasCurl()) {
    test('the whole story', { skip: 'tool absent: curl' })
    return
  }
  let stage: Stage
  before(async () => {
    const testbed = await Testbed.open()
    testbed.nodeEnvironment = ENVIRONMENT
    stage = { testbed, deployment: bring(testbed), site: '' }
  })
  after(async () => {
    await stage.deployment.kill()
    await stage.testbed[Symbol.asyncDispose]()
  })
  for (const { title, play, skip = false } of ACTS) test(title, { skip }, async () => await play(stage))
}

async function found({ testbed, deployment }: Stage): Promise<void> {
  await foundNode(testbed)
  testbed.urls = await deployment.start()
  await signIn(testbed)
  assert.equal((await testbed.run('operator', 'status')).code, 0)
}

async function put(stage: Stage): Promise<void> {
  const { testbed } = stage
  await writeSite(testbed)
  stage.site = await testbed.told('operator', 'put', '-q', testbed.path('operator/site'))
  assert.match(stage.site, /^b3:[0-9a-f]{64}$/)
  await testbed.told('operator', 'get', '-q', stage.site, '-o', testbed.path('operator/copy'))
  assert.ok(PICTURE.equals(await testbed.read('operator/copy/picture.txt')))
}

async function name(stage: Stage): Promise<void> {
  const { testbed } = stage
  const proposal = await testbed.told('alice', 'name', 'propose', '-q', SITE, stage.site)
  await testbed.told('alice', 'name', 'approve', '--yes', '-q', proposal)
  assert.equal((await testbed.run('alice', 'name', 'commit', proposal)).code, 8)
  await testbed.told('carol', 'name', 'approve', '--yes', '-q', proposal)
  assert.match(await testbed.told('carol', 'name', 'commit', '-q', proposal), /^1 {2}b3:/)
}

async function prove(stage: Stage): Promise<void> {
  const { testbed } = stage
  await testbed.eventually(({ status }) => status === 200, 'index', `/resolve/name:${SITE}`)
  const proof = testbed.path('operator/site.proof')
  assert.ok((await testbed.told('operator', 'resolve', `name:${SITE}`, '--proof', proof)).includes(stage.site))
  await testbed.told('operator', 'registry', 'trust', '-o', testbed.path('bob/trust.json'))
  const trust = ['--trust', testbed.path('bob/trust.json')]
  assert.match(await testbed.told('bob', 'verify-proof', proof, ...trust), /^verdict +verified\n/)
  const forged = (await testbed.read('operator/site.proof'))
    .toString('latin1')
    .replaceAll(stage.site.slice(-8), 'deadbeef')
  await testbed.write('bob/forged.proof', Buffer.from(forged, 'latin1'))
  assert.notEqual((await testbed.run('bob', 'verify-proof', testbed.path('bob/forged.proof'), ...trust)).code, 0)
}

async function serve({ testbed }: Stage): Promise<void> {
  const whole = await testbed.eventually(({ status }) => status === 200, 'edge', INDEX)
  assert.deepEqual([whole.body.toString(), whole.headers['content-type']], [PAGE, 'text/html; charset=utf-8'])
  const etag = whole.headers['etag'] ?? ''
  const held = await testbed.curl('edge', INDEX, '-H', `If-None-Match: ${etag}`)
  assert.deepEqual([held.status, held.body.length, held.headers['etag']], [304, 0, etag])
  const picture = '/edge/assets/n/site@1.0/picture.txt'
  const part = await testbed.curl('edge', picture, '-r', '65530-65549')
  assert.deepEqual([part.status, part.headers['content-range']], [206, `bytes 65530-65549/${PICTURE.length}`])
  assert.ok(PICTURE.subarray(65_530, 65_550).equals(part.body))
  const beyond = await testbed.curl('edge', picture, '-r', `${PICTURE.length}-`)
  assert.deepEqual([beyond.status, beyond.headers['content-range']], [416, `bytes */${PICTURE.length}`])
}

async function browse({ testbed }: Stage): Promise<void> {
  const browser = await openChromium(chromium ?? '')
  try {
    const page = await browser.newPage()
    const { port } = new URL(testbed.url('edge', '/'))
    await page.goto(`http://site.localhost:${port}/`)
    await page.waitForFunction(`document.title === 'A site, and its script ran'`)
    const colour = await page.evaluate(`getComputedStyle(document.querySelector('h1')).color`)
    assert.equal(colour, 'rgb(1, 2, 3)')
  } finally {
    await browser.close()
  }
}

async function follow({ testbed }: Stage): Promise<void> {
  assert.equal((await push(testbed, 'a guess', 'd-0')).status, 401)
  const accepted = await push(testbed, SECRET, 'd-1')
  assert.equal(accepted.status, 202)
  const { address } = JSON.parse(accepted.body.toString()) as { address: string }
  assert.equal(address, addressOf(PUSH))
  const isThere = ({ body }: { body: Buffer }): boolean => body.includes('"p_')
  const { body } = await testbed.eventually(isThere, 'registry', '/registry/proposals')
  const { proposals } = JSON.parse(body.toString()) as { proposals: { proposal_id: string }[] }
  assert.equal(proposals.length, 1)
  const proposal = proposals[0]?.proposal_id ?? ''
  await Promise.all(
    ['bob', 'carol'].map(async (who) => await testbed.told(who, 'name', 'approve', '--yes', '-q', proposal)),
  )
  await testbed.told('bob', 'name', 'commit', '-q', proposal)
  const [shown, audited] = await Promise.all([
    testbed.told('bob', 'name', 'show', NEXT),
    testbed.told('operator', 'audit', '--limit', '10'),
    testbed.told('operator', 'audit', 'verify'),
  ])
  assert.ok(shown.includes(address))
  assert.match(audited, /github/)
}

async function flipBitAndScrub({ testbed }: Stage): Promise<void> {
  const picture = addressOf(PICTURE)
  await flipBit(testbed, PICTURE.subarray(100_000, 100_040))
  const scrubbed = await testbed.run('operator', 'scrub', '--wait', '--json')
  const { result, error } = JSON.parse(scrubbed.data) as { result: { damaged: string[] }; error: { code: string } }
  assert.deepEqual([scrubbed.code, error.code, result.damaged.length], [4, 'damaged', 1])
  const refused = await testbed.run('operator', 'get', '-q', picture, '-o', testbed.path('operator/wrong.txt'))
  assert.notEqual(refused.code, 0)
  await assert.rejects(testbed.read('operator/wrong.txt'), { code: 'ENOENT' })
  await testbed.told('operator', 'put', '-q', testbed.path('operator/site/picture.txt'))
  await testbed.told('operator', 'scrub', '-q', '--wait')
  await testbed.told('operator', 'get', '-q', picture, '-o', testbed.path('operator/right.txt'))
  assert.ok(PICTURE.equals(await testbed.read('operator/right.txt')))
}

async function killAndRestart({ testbed, deployment }: Stage): Promise<void> {
  const acknowledged = await testbed.told(
    'operator',
    'put',
    '-q',
    await testbed.write('operator/last.txt', 'the last word'),
  )
  const big = await testbed.write('operator/big.bin', Buffer.alloc(BIG_BYTES, PICTURE))
  const cut = await testbed.whileSending(big, async () => await deployment.kill())
  assert.notEqual(cut, 0)
  testbed.urls = await deployment.start()
  const [got] = await Promise.all([
    testbed.told('operator', 'get', acknowledged),
    testbed.told('operator', 'registry', 'verify', '--trust', testbed.path('bob/trust.json')),
    testbed.told('operator', 'audit', 'verify'),
  ])
  assert.equal(got, 'the last word')
  const { body } = await testbed.eventually(({ status }) => status === 200, 'edge', INDEX)
  assert.equal(body.toString(), PAGE)
  // What was not acknowledged is put again, by the same command.
  await testbed.told('operator', 'put', '-q', big)
}

async function backUpAndRestore(stage: Stage): Promise<void> {
  const { testbed } = stage
  const sealed = ['--passphrase-file', await testbed.write('operator/passphrase', 'correct horse battery staple')]
  await testbed.told('operator', 'backup', 'create', '-q', testbed.path('operator/backup'), ...sealed)
  // The old node signs no more from here on; what it has signed is in the state directory of who ran it.
  await stage.deployment.kill()
  await testbed.told('keeper', 'backup', 'restore', '-q', testbed.path('operator/backup'), ...sealed)
  const elsewhere = oneProcess(testbed, ENVIRONMENT, 'keeper')
  try {
    testbed.urls = await elsewhere.start()
    await testbed.told('keeper', 'get', '-q', stage.site, '-o', testbed.path('keeper/site'))
    assert.ok(PICTURE.equals(await testbed.read('keeper/site/picture.txt')))
    assert.ok((await testbed.told('keeper', 'name', 'show', SITE)).includes(stage.site), 'it reads')
    const refused = await testbed.run('keeper', 'name', 'propose', 'site@2.0', stage.site)
    assert.notEqual(refused.code, 0)
    assert.match(refused.words, /cairn registry adopt/)
    const { body: checkpoint } = await testbed.curl('registry', '/log/checkpoint')
    const own = await testbed.write('keeper/own.txt', checkpoint)
    const itself = await testbed.run('keeper', 'registry', 'adopt', '--checkpoint', own)
    assert.notEqual(itself.code, 0, 'what it shows itself proves nothing')
    assert.match(itself.words, /logs\/ of its state directory[\s\S]*Next:[\s\S]*registry adopt --moved/)
    const record = '.local/state/cairn/logs'
    await cp(testbed.path(`operator/${record}`), testbed.path(`keeper/${record}`), { recursive: true })
    await testbed.told('keeper', 'registry', 'adopt', '--moved')
    await testbed.told('keeper', 'stop')
    await elsewhere.start()
    assert.match(await testbed.told('keeper', 'name', 'propose', '-q', 'site@2.0', stage.site), /^p_/)
  } finally {
    await elsewhere.kill()
  }
}

async function foundNode(testbed: Testbed): Promise<void> {
  const people = ['alice', 'bob', 'carol']
  const signers = await Promise.all(people.map(async (who) => await testbed.told(who, 'key', 'new', '--id', who)))
  const roots = `{"m": 2, "signers": [\n${signers.join(',\n')}\n]}\n`
  await testbed.write('operator/roots.json', roots)
  const toml = `[registry.bootstrap]
origin = "registry.example.org/story"
trust_roots_path = ${JSON.stringify(testbed.path('operator/roots.json'))}
trust_roots_hash = "${addressOf(Buffer.from(roots))}"

[edge.sites]
site = "${SITE}"

# None between a backup and what happens next: a log that signed once more is ahead of its backup, as it should be.
[interop.audit]
anchor_interval = "1h"

[interop]
rules = [{ provider = "github", event = "push", then = "propose:${NEXT}" }]

[interop.providers.github]
enabled = true
secrets = [{ env = "GITHUB_WEBHOOK_SECRET" }]
`
  await testbed.told('operator', 'config', 'validate', '-q', await testbed.write('operator/cairn.toml', toml))
}

async function signIn(testbed: Testbed): Promise<void> {
  const scopes = ['propose', 'approve', 'commit'].flatMap((verb) => ['--scope', `registry:${verb}`])
  const token = await testbed.told('operator', 'token', 'mint', '-q', '--for', 'registry', ...scopes)
  for (const who of ['alice', 'bob', 'carol']) await testbed.write(`${who}/token`, token)
}

async function writeSite(testbed: Testbed): Promise<void> {
  await testbed.write('operator/site/index.html', PAGE)
  await testbed.write('operator/site/style.css', 'h1 { color: rgb(1, 2, 3) }')
  await testbed.write('operator/site/app.js', `document.title = 'A site, and its script ran'`)
  await testbed.write('operator/site/picture.txt', PICTURE)
}

async function push(testbed: Testbed, secret: string, delivery: string): Promise<{ status: number; body: Buffer }> {
  const signature = createHmac('sha256', secret).update(PUSH).digest('hex')
  const headers = ['Content-Type: application/json', 'X-GitHub-Event: push', `X-GitHub-Delivery: ${delivery}`]
  const signed = [...headers, `X-Hub-Signature-256: sha256=${signature}`].flatMap((header) => ['-H', header])
  const body = await testbed.write('operator/push.json', PUSH)
  return await testbed.curl('interop', '/webhooks/github', ...signed, '--data-binary', `@${body}`)
}

/** Where these bytes are on the drive, one bit of them is another from now on. */
async function flipBit(testbed: Testbed, bytes: Uint8Array): Promise<void> {
  for await (const file of testbed.files('operator/.cairn')) {
    const at = file.bytes.indexOf(bytes)
    if (at === -1) continue
    const handle = await open(file.path, 'r+')
    await handle.write(Buffer.of((file.bytes[at] ?? 0) ^ 1), 0, 1, at)
    await handle.close()
    return
  }
  assert.fail('The bytes are nowhere on the drive.')
}
