/** The console as a person has it: in a real browser, on a real node, each action held against what the node then says. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { freePorts } from '@cairn/platform/testing'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { Home, LAUNCHER, type RunningNode } from '../../node/test/running-node.ts'
import { findChromium, openChromium } from './chromium.ts'

const program = findChromium()
const SKIP = { skip: program === undefined ? 'tool absent: Chromium; verify/browser/install installs it' : false }
const PAGES = ['now', 'names', 'objects', 'webhooks', 'cluster', 'audit', 'settings', 'sites'] as const
const PICTURES = new URL('../../docs/images/console/', import.meta.url)
const isPicturing = process.env['CAIRN_PICTURES'] === 'write'
/** How long a busy machine may take to draw. */
const TIMEOUT_MS = 30_000
/** One node serves every test here, also where each takes long. */
const NODE_LIMIT_MS = 300_000
const LONG_NAME = 'the-handbook-of-everything-a-department-does@2027.01.15-candidate'
const RIGHT_TO_LEFT = '\u202e'

let home: Home
let node: RunningNode
let browser: Browser
let origin = ''
let address = ''
let portBase = 0

before(async () => {
  if (program === undefined) return
  home = await Home.make()
  portBase = await freePorts(7)
  const source = await cairn('hook', 'add', 'github', '--generate', '--secret-file', 'github.secret')
  const rules = '[interop]\nrules = [{ provider = "github", event = "push", then = "mailbox:deploys" }]\n'
  await writeFile(`${home.path}/cairn.toml`, source + rules)
  await start()
  browser = await openChromium(program)
  origin = `http://localhost:${portBase}`
  await mkdir(`${home.path}/site/css`, { recursive: true })
  await writeFile(`${home.path}/site/index.html`, '<!doctype html><h1>Hello</h1>')
  await writeFile(`${home.path}/site/css/style.css`, 'h1 { color: navy }')
  address = (await cairn('put', '-q', 'site')).trim()
  await fill()
})

/** Something for every page to show: names long and short, what waits for a signature, webhooks taken and refused. */
async function fill(): Promise<void> {
  await cairn('publish', 'site', 'site@live')
  await cairn('publish', 'site/css', LONG_NAME)
  await cairn('name', 'propose', 'manual@2.0', address, '--note', 'The second edition')
  await cairn('hook', 'test', 'github', '--event', 'push')
  const forged = await fetch(`http://127.0.0.1:${portBase + 5}/webhooks/github`, {
    method: 'POST',
    headers: {
      'x-hub-signature-256': `sha256=${'0'.repeat(64)}`,
      'x-github-event': 'push',
      'x-github-delivery': 'forged',
    },
    body: '{}',
  })
  assert.equal(forged.status, 401)
}

after(async () => {
  if (program === undefined) return
  await browser.close()
  await home[Symbol.asyncDispose]()
})

async function start(): Promise<void> {
  node = home.start({ args: ['--port-base', String(portBase)], limitMs: NODE_LIMIT_MS })
  await node.ready()
}

async function cairn(...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [LAUNCHER, ...args], { cwd: home.path })
  return stdout
}

/** The address that `cairn open` hands to the browser. */
async function signInUrl(): Promise<string> {
  return (await cairn('open', '--print')).trim()
}

/** What a page must never do: fail by itself, break its policy, or ask another origin. */
class Watched implements AsyncDisposable {
  readonly page: Page
  readonly faults: string[] = []

  private constructor(page: Page) {
    this.page = page
    page.setDefaultTimeout(TIMEOUT_MS)
    page.on('pageerror', (error) => this.faults.push(error.message))
    page.on('console', (message) => {
      // A refusal is an answer, and the page says it.
      if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
        this.faults.push(message.text())
    })
    page.on('request', (request) => {
      const url = request.url()
      if (!url.startsWith(`${origin}/`) && !url.startsWith('blob:')) this.faults.push(`asked ${url}`)
    })
  }

  static async open(url: string, options: BrowserContextOptions = {}): Promise<Watched> {
    const watched = new Watched(await (await browser.newContext(options)).newPage())
    await watched.page.goto(url)
    return watched
  }

  static async signedIn(options?: BrowserContextOptions): Promise<Watched> {
    const watched = await Watched.open(await signInUrl(), options)
    await watched.page.getByText('Live', { exact: true }).waitFor()
    return watched
  }

  async show(path: string): Promise<void> {
    await this.page.evaluate(`location.hash = ${JSON.stringify(`#/${path}`)}`)
    await this.page.waitForSelector(`cairn-${path.replace(/\/.*/, '')} .panel`)
    await this.page.waitForSelector('[aria-busy]', { state: 'detached' })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.page.context().close()
    assert.deepEqual(this.faults, [])
  }
}

test('a link signs in once; used again, wrong and expired sign-in say what to do', SKIP, async () => {
  const url = await signInUrl()
  await using first = await Watched.open(url)
  await first.page.getByText('All five services are healthy.').waitFor()
  assert.equal(first.page.url(), `${origin}/`, 'the code is gone from the address')
  await using second = await Watched.open(url)
  await second.page.getByText('This link was used already').waitFor()
  await second.page.getByLabel('Or enter a code or a token').fill('000000-000000-000000-000000')
  await second.page.getByRole('button', { name: 'Sign in' }).click()
  await second.page.getByText('The code is not right', { exact: true }).waitFor()
  await second.page
    .getByLabel('Or enter a code or a token')
    .fill(await readFile(`${home.path}/.cairn/admin.token`, 'utf8'))
  await second.page.getByRole('button', { name: 'Sign in' }).click()
  await second.page.getByText('All five services are healthy.').waitFor()
})

test('every page draws, wide, narrow, light and dark, with nothing fetched from elsewhere', SKIP, async () => {
  for (const [form, options] of Object.entries({
    light: { viewport: { width: 1280, height: 860 }, colorScheme: 'light' },
    dark: { viewport: { width: 1280, height: 860 }, colorScheme: 'dark' },
    narrow: { viewport: { width: 360, height: 780 }, colorScheme: 'light' },
  } as const)) {
    await using watched = await Watched.signedIn(options)
    for (const path of PAGES) {
      await watched.show(path)
      await watched.page.locator('.panel').first().waitFor()
      assert.equal(await watched.page.locator('[role=alert]').count(), 0, `${form} ${path}`)
      const wider = await watched.page.evaluate(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      )
      assert.equal(wider, 0, `${form} ${path} scrolls sideways`)
      if (isPicturing) await watched.page.screenshot({ path: new URL(`${path}-${form}.png`, PICTURES).pathname })
    }
  }
})

test(
  'a file that is put in the page is the object its address says, and can be verified and deleted',
  SKIP,
  async () => {
    await using watched = await Watched.signedIn()
    await watched.show('objects')
    const bytes = Buffer.from('put by a page')
    await watched.page
      .getByLabel('Choose files')
      .setInputFiles({ name: `note${RIGHT_TO_LEFT}txt`, mimeType: 'text/plain', buffer: bytes })
    const open = watched.page.locator('.transfer a')
    await open.waitFor()
    assert.match((await watched.page.locator('.transfer .name').textContent()) ?? '', /noteU\+202Etxt/)
    const put = (await open.getAttribute('href'))?.replace('#/objects/', '') ?? ''
    const got = await fetch(`http://127.0.0.1:${portBase + 1}/o/${put}`)
    assert.deepEqual(Buffer.from(await got.arrayBuffer()), bytes)
    await open.click()
    await watched.page.getByRole('button', { name: 'Verify here' }).click()
    await watched.page.getByText('read and proved in this page').waitFor()
    watched.page.on('dialog', (dialog) => {
      dialog.accept().catch(() => undefined)
    })
    await watched.page.getByRole('button', { name: 'Delete object' }).click()
    await watched.page.getByText('Deleted', { exact: true }).waitFor()
    assert.equal((await fetch(`http://127.0.0.1:${portBase + 1}/o/${put}`)).status, 404)
    await watched.show(`objects/${address}`)
    await watched.page.getByText('directory, 2').waitFor()
  },
)

test('a proposal is reviewed, signed with a key file, committed, and its proof verifies offline', SKIP, async () => {
  const note = `<img src=x onerror=alert(1)>${RIGHT_TO_LEFT}`
  const proposal = (await cairn('name', 'propose', 'site@1.0', address, '--note', note)).trim()
  await using watched = await Watched.signedIn()
  await watched.show('names')
  const review = watched.page.getByLabel(`Proposal ${proposal}`)
  await review.getByText(`<img src=x onerror=alert(1)>U+202E`).waitFor()
  await review.getByText(address.slice('b3:'.length)).waitFor()
  await cairn('key', 'new', 'other.key', '--id', 'mallory')
  await review.getByLabel('Key file of a signer').setInputFiles(`${home.path}/other.key`)
  await watched.page.getByText('This is the key of mallory, which is not asked for; local can sign.').waitFor()
  await review.getByLabel('Key file of a signer').setInputFiles(`${home.path}/.cairn/registry/signer.key`)
  await review.getByRole('button', { name: 'Commit site@1.0' }).click()
  await watched.page.getByText(/^Committed as version \d+$/).waitFor()
  await watched.show('names/site@1.0')
  await watched.page.getByRole('button', { name: 'Check the proof here' }).click()
  await watched.page.getByText('Proved in this page').waitFor()
  const saved = watched.page.waitForEvent('download')
  await watched.page.getByRole('button', { name: 'Download proof' }).click()
  await (await saved).saveAs(`${home.path}/site.proof`)
  const trust = await fetch(`http://127.0.0.1:${portBase + 3}/registry/trust`)
  await writeFile(`${home.path}/trust.json`, Buffer.from(await trust.arrayBuffer()))
  const verified = JSON.parse(await cairn('verify-proof', 'site.proof', '--trust', 'trust.json', '--json')) as {
    ok: boolean
  }
  assert.equal(verified.ok, true)
})

test('a node that dies is told of, and one that comes back asks to sign in again', SKIP, async () => {
  await using watched = await Watched.signedIn()
  node.kill()
  await node.ended
  await watched.page.getByText(/^Behind by/).waitFor()
  await start()
  await watched.page.getByText('Your session has ended').waitFor()
})
