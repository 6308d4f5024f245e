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
import { type Machines, oneProcess, Town } from './town.ts'

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
  readonly town: Town
  readonly machines: Machines
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
export function playStory(bring: (town: Town) => Machines): void {
  if (!hasCurl()) {
    test('the whole story', { skip: 'tool absent: curl' })
    return
  }
  let stage: Stage
  before(async () => {
    const town = await Town.open()
    town.nodeEnvironment = ENVIRONMENT
    stage = { town, machines: bring(town), site: '' }
  })
  after(async () => {
    await stage.machines.kill()
    await stage.town[Symbol.asyncDispose]()
  })
  for (const { title, play, skip = false } of ACTS) test(title, { skip }, async () => await play(stage))
}

async function found({ town, machines }: Stage): Promise<void> {
  await foundNode(town)
  town.urls = await machines.start()
  await signIn(town)
  assert.equal((await town.run('operator', 'status')).code, 0)
}

async function put(stage: Stage): Promise<void> {
  const { town } = stage
  await writeSite(town)
  stage.site = await town.told('operator', 'put', '-q', town.path('operator/site'))
  assert.match(stage.site, /^b3:[0-9a-f]{64}$/)
  await town.told('operator', 'get', '-q', stage.site, '-o', town.path('operator/copy'))
  assert.ok(PICTURE.equals(await town.read('operator/copy/picture.txt')))
}

async function name(stage: Stage): Promise<void> {
  const { town } = stage
  const proposal = await town.told('alice', 'name', 'propose', '-q', SITE, stage.site)
  await town.told('alice', 'name', 'approve', '-q', proposal)
  assert.equal((await town.run('alice', 'name', 'commit', proposal)).code, 8)
  await town.told('carol', 'name', 'approve', '-q', proposal)
  assert.match(await town.told('carol', 'name', 'commit', '-q', proposal), /^1 {2}b3:/)
}

async function prove(stage: Stage): Promise<void> {
  const { town } = stage
  await town.eventually(({ status }) => status === 200, 'index', `/resolve/name:${SITE}`)
  const proof = town.path('operator/site.proof')
  assert.ok((await town.told('operator', 'resolve', `name:${SITE}`, '--proof', proof)).includes(stage.site))
  await town.told('operator', 'registry', 'trust', '-o', town.path('bob/trust.json'))
  const trust = ['--trust', town.path('bob/trust.json')]
  assert.match(await town.told('bob', 'verify-proof', proof, ...trust), /^verdict +verified\n/)
  const forged = (await town.read('operator/site.proof'))
    .toString('latin1')
    .replaceAll(stage.site.slice(-8), 'deadbeef')
  await town.write('bob/forged.proof', Buffer.from(forged, 'latin1'))
  assert.notEqual((await town.run('bob', 'verify-proof', town.path('bob/forged.proof'), ...trust)).code, 0)
}

async function serve({ town }: Stage): Promise<void> {
  const whole = await town.eventually(({ status }) => status === 200, 'edge', INDEX)
  assert.deepEqual([whole.body.toString(), whole.headers['content-type']], [PAGE, 'text/html; charset=utf-8'])
  const etag = whole.headers['etag'] ?? ''
  const held = await town.curl('edge', INDEX, '-H', `If-None-Match: ${etag}`)
  assert.deepEqual([held.status, held.body.length, held.headers['etag']], [304, 0, etag])
  const picture = '/edge/assets/n/site@1.0/picture.txt'
  const part = await town.curl('edge', picture, '-r', '65530-65549')
  assert.deepEqual([part.status, part.headers['content-range']], [206, `bytes 65530-65549/${PICTURE.length}`])
  assert.ok(PICTURE.subarray(65_530, 65_550).equals(part.body))
  const beyond = await town.curl('edge', picture, '-r', `${PICTURE.length}-`)
  assert.deepEqual([beyond.status, beyond.headers['content-range']], [416, `bytes */${PICTURE.length}`])
}

async function browse({ town }: Stage): Promise<void> {
  const browser = await openChromium(chromium ?? '')
  try {
    const page = await browser.newPage()
    const { port } = new URL(town.url('edge', '/'))
    await page.goto(`http://site.localhost:${port}/`)
    await page.waitForFunction(`document.title === 'A site, and its script ran'`)
    const colour = await page.evaluate(`getComputedStyle(document.querySelector('h1')).color`)
    assert.equal(colour, 'rgb(1, 2, 3)')
  } finally {
    await browser.close()
  }
}

async function follow({ town }: Stage): Promise<void> {
  assert.equal((await push(town, 'a guess', 'd-0')).status, 401)
  const accepted = await push(town, SECRET, 'd-1')
  assert.equal(accepted.status, 202)
  const { address } = JSON.parse(accepted.body.toString()) as { address: string }
  assert.equal(address, addressOf(PUSH))
  const isThere = ({ body }: { body: Buffer }): boolean => body.includes('"p_')
  const { body } = await town.eventually(isThere, 'registry', '/registry/proposals')
  const { proposals } = JSON.parse(body.toString()) as { proposals: { proposal_id: string }[] }
  assert.equal(proposals.length, 1)
  const proposal = proposals[0]?.proposal_id ?? ''
  await Promise.all(['bob', 'carol'].map(async (who) => await town.told(who, 'name', 'approve', '-q', proposal)))
  await town.told('bob', 'name', 'commit', '-q', proposal)
  const [shown, audited] = await Promise.all([
    town.told('bob', 'name', 'show', NEXT),
    town.told('operator', 'audit', '--limit', '10'),
    town.told('operator', 'audit', 'verify'),
  ])
  assert.ok(shown.includes(address))
  assert.match(audited, /github/)
}

async function flipBitAndScrub({ town }: Stage): Promise<void> {
  const picture = addressOf(PICTURE)
  await flipBit(town, PICTURE.subarray(100_000, 100_040))
  const scrubbed = await town.run('operator', 'scrub', '--wait', '--json')
  const { result, error } = JSON.parse(scrubbed.data) as { result: { damaged: string[] }; error: { code: string } }
  assert.deepEqual([scrubbed.code, error.code, result.damaged.length], [4, 'damaged', 1])
  const refused = await town.run('operator', 'get', '-q', picture, '-o', town.path('operator/wrong.txt'))
  assert.notEqual(refused.code, 0)
  await assert.rejects(town.read('operator/wrong.txt'), { code: 'ENOENT' })
  await town.told('operator', 'put', '-q', town.path('operator/site/picture.txt'))
  await town.told('operator', 'scrub', '-q', '--wait')
  await town.told('operator', 'get', '-q', picture, '-o', town.path('operator/right.txt'))
  assert.ok(PICTURE.equals(await town.read('operator/right.txt')))
}

async function killAndRestart({ town, machines }: Stage): Promise<void> {
  const acknowledged = await town.told('operator', 'put', '-q', await town.write('operator/last.txt', 'the last word'))
  const big = await town.write('operator/big.bin', Buffer.alloc(BIG_BYTES, PICTURE))
  const cut = await town.whileSending(big, async () => await machines.kill())
  assert.notEqual(cut, 0)
  town.urls = await machines.start()
  const [got] = await Promise.all([
    town.told('operator', 'get', acknowledged),
    town.told('operator', 'registry', 'verify', '--trust', town.path('bob/trust.json')),
    town.told('operator', 'audit', 'verify'),
  ])
  assert.equal(got, 'the last word')
  const { body } = await town.eventually(({ status }) => status === 200, 'edge', INDEX)
  assert.equal(body.toString(), PAGE)
  // What was not acknowledged is put again, by the same command.
  await town.told('operator', 'put', '-q', big)
}

async function backUpAndRestore(stage: Stage): Promise<void> {
  const { town } = stage
  const sealed = ['--passphrase-file', await town.write('operator/passphrase', 'correct horse battery staple')]
  await town.told('operator', 'backup', 'create', '-q', town.path('operator/backup'), ...sealed)
  // The old node signs no more from here on; what it has signed is in the state directory of who ran it.
  await stage.machines.kill()
  await town.told('keeper', 'backup', 'restore', '-q', town.path('operator/backup'), ...sealed)
  const elsewhere = oneProcess(town, ENVIRONMENT, 'keeper')
  try {
    town.urls = await elsewhere.start()
    await town.told('keeper', 'get', '-q', stage.site, '-o', town.path('keeper/site'))
    assert.ok(PICTURE.equals(await town.read('keeper/site/picture.txt')))
    assert.ok((await town.told('keeper', 'name', 'show', SITE)).includes(stage.site), 'it reads')
    const refused = await town.run('keeper', 'name', 'propose', 'site@2.0', stage.site)
    assert.notEqual(refused.code, 0)
    assert.match(refused.words, /cairn registry adopt/)
    const { body: checkpoint } = await town.curl('registry', '/log/checkpoint')
    const own = await town.write('keeper/own.txt', checkpoint)
    const itself = await town.run('keeper', 'registry', 'adopt', '--checkpoint', own)
    assert.notEqual(itself.code, 0, 'what it shows itself proves nothing')
    assert.match(itself.words, /logs\/ of its state directory[\s\S]*Next:[\s\S]*registry adopt --moved/)
    const record = '.local/state/cairn/logs'
    await cp(town.path(`operator/${record}`), town.path(`keeper/${record}`), { recursive: true })
    await town.told('keeper', 'registry', 'adopt', '--moved')
    await town.told('keeper', 'stop')
    await elsewhere.start()
    assert.match(await town.told('keeper', 'name', 'propose', '-q', 'site@2.0', stage.site), /^p_/)
  } finally {
    await elsewhere.kill()
  }
}

async function foundNode(town: Town): Promise<void> {
  const people = ['alice', 'bob', 'carol']
  const signers = await Promise.all(people.map(async (who) => await town.told(who, 'key', 'new', '--id', who)))
  const roots = `{"m": 2, "signers": [\n${signers.join(',\n')}\n]}\n`
  await town.write('operator/roots.json', roots)
  const toml = `[registry.bootstrap]
origin = "registry.example.org/story"
trust_roots_path = ${JSON.stringify(town.path('operator/roots.json'))}
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
  await town.told('operator', 'config', 'validate', '-q', await town.write('operator/cairn.toml', toml))
}

async function signIn(town: Town): Promise<void> {
  const scopes = ['propose', 'approve', 'commit'].flatMap((verb) => ['--scope', `registry:${verb}`])
  const token = await town.told('operator', 'token', 'mint', '-q', '--for', 'registry', ...scopes)
  for (const who of ['alice', 'bob', 'carol']) await town.write(`${who}/token`, token)
}

async function writeSite(town: Town): Promise<void> {
  await town.write('operator/site/index.html', PAGE)
  await town.write('operator/site/style.css', 'h1 { color: rgb(1, 2, 3) }')
  await town.write('operator/site/app.js', `document.title = 'A site, and its script ran'`)
  await town.write('operator/site/picture.txt', PICTURE)
}

async function push(town: Town, secret: string, delivery: string): Promise<{ status: number; body: Buffer }> {
  const signature = createHmac('sha256', secret).update(PUSH).digest('hex')
  const headers = ['Content-Type: application/json', 'X-GitHub-Event: push', `X-GitHub-Delivery: ${delivery}`]
  const signed = [...headers, `X-Hub-Signature-256: sha256=${signature}`].flatMap((header) => ['-H', header])
  const body = await town.write('operator/push.json', PUSH)
  return await town.curl('interop', '/webhooks/github', ...signed, '--data-binary', `@${body}`)
}

/** Where these bytes are on the drive, one bit of them is another from now on. */
async function flipBit(town: Town, bytes: Uint8Array): Promise<void> {
  for await (const file of town.files('operator/.cairn')) {
    const at = file.bytes.indexOf(bytes)
    if (at === -1) continue
    const handle = await open(file.path, 'r+')
    await handle.write(Buffer.of((file.bytes[at] ?? 0) ^ 1), 0, 1, at)
    await handle.close()
    return
  }
  assert.fail('The bytes are nowhere on the drive.')
}
