/** The console from outside: what opens it, what does not, and what it sends on. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { freePorts } from '@cairn/platform/testing'
import { bearer } from './asking.ts'
import { Home } from './running-node.ts'

const FROM_PAGE = { 'sec-fetch-site': 'same-origin' } as const
const FIRST_PAGE_MAX = 60_000

type Headers = Readonly<Record<string, string>>

interface SignedIn {
  readonly id: string
  readonly headers: Headers
}

/** The console's origin, as a browser asks it. */
class Origin {
  readonly url: string
  readonly #admin: Headers

  constructor(url: string, admin: Headers) {
    this.url = url.replace('127.0.0.1', 'localhost')
    this.#admin = admin
  }

  async ask(path: string, init: RequestInit = {}): Promise<Response> {
    return await fetch(`${this.url}${path}`, { redirect: 'manual', ...init })
  }

  async code(): Promise<string> {
    const response = await this.ask('/admin/console/code', { method: 'POST', headers: this.#admin })
    return ((await response.json()) as { code: string }).code
  }

  async signIn(credential: string, headers: Headers = FROM_PAGE): Promise<Response> {
    const body = JSON.stringify({ credential })
    return await this.ask('/console/session', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    })
  }

  async enter(credential: string): Promise<SignedIn> {
    const response = await this.signIn(credential)
    assert.equal(response.status, 201)
    const [cookie = ''] = (response.headers.get('set-cookie') ?? '').split(';')
    const { proof, id } = (await response.json()) as { proof: string; id: string }
    return { id, headers: { ...FROM_PAGE, cookie, 'x-cairn-session': proof } }
  }
}

async function refusal(response: Response): Promise<string> {
  return `${response.status} ${((await response.json()) as { code: string }).code}`
}

async function until(response: Response, fits: (text: string) => boolean): Promise<string> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (!fits(text)) {
    const part = await reader.read()
    assert.equal(part.done, false, text)
    text += part.value
  }
  await reader.cancel()
  return text
}

test('localhost is the node by both of its addresses, or the node does not start', async (t) => {
  const port = await freePorts(7)
  const other = createServer()
  const hasSix = await new Promise<boolean>((resolve) => {
    other.once('error', () => resolve(false))
    other.listen({ host: '::1', port }, () => resolve(true))
  })
  if (!hasSix) {
    t.skip('tool absent: ::1')
    return
  }
  await using home = await Home.make()
  const refused = home.start({ args: ['--port-base', String(port)] })
  assert.notEqual((await refused.ended).code, 0)
  assert.match(refused.stdout.text + refused.stderr.text, /\[::1\]:\d+ is in use by another program/)
  await new Promise((resolve) => {
    other.close(resolve)
  })
  const node = home.start({ args: ['--port-base', String(port)] })
  await node.ready()
  for (const host of ['127.0.0.1', '[::1]', 'localhost'])
    assert.equal((await fetch(`http://${host}:${port}/readyz`)).status, 200, host)
  assert.deepEqual(await node.stop(), { code: 0, signal: null })
})

test('the console of a node', async (t) => {
  await using home = await Home.make()
  const node = home.start({ args: ['--port-base', '0'] })
  const { urls } = await node.ready()
  const admin = await bearer(home.path)
  const origin = new Origin(urls['node']![0]!, admin)

  await t.test('its page leads to localhost, has a policy, and is small', async () => {
    const byAddress = await fetch(`${urls['node']![0]!}/`, { redirect: 'manual' })
    assert.deepEqual([byAddress.status, byAddress.headers.get('location')], [307, `${origin.url}/`])
    const response = await origin.ask('/')
    const page = await response.text()
    const policy = response.headers.get('content-security-policy') ?? ''
    assert.match(
      policy,
      /^default-src 'none'; script-src 'self' 'wasm-unsafe-eval' 'sha256-[\w+/]+='; style-src 'self'; /,
    )
    assert.match(
      policy,
      /frame-ancestors 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'$/,
    )
    const { imports } = JSON.parse(/<script type="importmap">(.*?)<\/script>/.exec(page)![1]!) as { imports: Headers }
    const [start] = /\/console\/[0-9a-f]{16}\//.exec(page)!
    const waiting = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path!)
    const seen = new Map<string, number>()
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      if (seen.has(path)) continue
      assert.ok(path.startsWith(start), path)
      const file = await origin.ask(path, { headers: { 'accept-encoding': 'gzip' } })
      assert.equal(file.status, 200, path)
      assert.match(file.headers.get('cache-control') ?? '', /immutable/)
      const text = await file.text()
      seen.set(path, Number(file.headers.get('content-length')))
      // What the first page runs at once, and the page that it shows.
      for (const [, name = ''] of text.matchAll(/(?:from|import)\s*\(?['"]([^'"]+)['"]/g)) {
        if (name.startsWith('./pages/') && name !== './pages/now.ts') continue
        waiting.push(name.startsWith('.') ? new URL(name, `http://h${path}`).pathname : imports[name]!)
      }
    }
    const all = [...seen.values()].reduce((sum, size) => sum + size, page.length)
    t.diagnostic(`first page: ${all} bytes in ${seen.size + 1} answers`)
    assert.ok(all <= FIRST_PAGE_MAX, `${all}`)
    assert.equal((await origin.ask('/console/0000000000000000/@cairn/console/src/app.ts')).status, 404)
  })

  await t.test('a code opens one session, a token of the node opens one, and nothing else does', async () => {
    const code = await origin.code()
    assert.equal((await origin.signIn(code.toUpperCase())).status, 201)
    assert.equal(await refusal(await origin.signIn(code)), '401 code_used')
    assert.equal(await refusal(await origin.signIn('000000-000000-000000-000000')), '401 code_unknown')
    const token = admin['authorization']!.replace('Bearer ', '')
    assert.equal((await origin.signIn(token)).status, 201)
    assert.equal(await refusal(await origin.signIn('x'.repeat(200))), '401 token_refused')
    for (const site of ['cross-site', 'same-site', 'none'])
      assert.equal(
        await refusal(await origin.signIn(await origin.code(), { 'sec-fetch-site': site })),
        '403 cross_site',
        site,
      )
    assert.equal(await refusal(await origin.signIn(await origin.code(), {})), '403 cross_site')
  })

  await t.test('a session needs both halves, from a page of the origin', async () => {
    const { headers } = await origin.enter(await origin.code())
    const status = async (changes: Partial<Record<string, string | undefined>>): Promise<number> => {
      const sent = Object.entries({ ...headers, ...changes }).filter(([, value]) => value !== undefined)
      return (await origin.ask('/svc/node/admin/status', { headers: Object.fromEntries(sent) as Headers })).status
    }
    assert.equal(await status({}), 200)
    assert.equal(await status({ cookie: undefined }), 401)
    assert.equal(await status({ 'x-cairn-session': undefined }), 401)
    assert.equal(await status({ 'x-cairn-session': '0'.repeat(48) }), 401)
    assert.equal(await status({ 'sec-fetch-site': 'same-site' }), 403)
    assert.equal(await status({ 'sec-fetch-site': undefined }), 403)
  })

  await t.test('a server on another port of the host replays the cookie it is sent, in vain', async () => {
    const { headers } = await origin.enter(await origin.code())
    const heard: string[] = []
    const thief = createServer((request, response) => {
      heard.push(request.headers.cookie ?? '')
      response.end()
    })
    await new Promise<void>((resolve) => {
      thief.listen(0, '127.0.0.1', resolve)
    })
    const { port } = thief.address() as AddressInfo
    // Cookies know no ports: a browser sends it there too.
    await fetch(`http://127.0.0.1:${port}/`, { headers: { cookie: headers['cookie']! } })
    thief.close()
    const replayed = await origin.ask('/svc/node/admin/status', { headers: { ...FROM_PAGE, cookie: heard[0]! } })
    assert.equal(await refusal(replayed), '401 no_session')
  })

  await t.test('what it sends on is what the service does, and cannot be shown as a page', async () => {
    const { headers } = await origin.enter(await origin.code())
    const evil = '<script>alert(1)</script>'
    const put = await origin.ask('/svc/storage/o', {
      method: 'POST',
      headers: { ...headers, 'content-type': 'text/html' },
      body: evil,
    })
    assert.equal(put.status, 201)
    const { address } = (await put.json()) as { address: string }
    const got = await origin.ask(`/svc/storage/o/${address}`, { headers: { ...headers, range: 'bytes=1-6' } })
    assert.deepEqual([got.status, await got.text()], [206, 'script'])
    assert.equal(got.headers.get('content-security-policy'), "default-src 'none'; sandbox")
    assert.equal(got.headers.get('cache-control'), 'no-store')
    assert.equal(await refusal(await origin.ask(`/svc/storage/o/b3:${'0'.repeat(64)}`, { headers })), '404 not_found')
    assert.equal((await origin.ask(`/svc/node/svc/node/admin/status`, { headers })).status, 403)
    assert.equal((await origin.ask('/svc/nothing/o', { headers })).status, 400)
  })

  await t.test('a session may do what the token it was opened with may, and no more', async () => {
    const minted = await origin.ask('/admin/tokens', {
      method: 'POST',
      headers: { ...admin, 'content-type': 'application/json' },
      body: JSON.stringify({ aud: 'storage', scopes: ['storage:write'] }),
    })
    const { token } = (await minted.json()) as { token: string }
    const { headers } = await origin.enter(token)
    assert.equal((await origin.ask('/svc/storage/o', { method: 'POST', headers, body: 'some bytes' })).status, 201)
    assert.equal((await origin.ask('/svc/storage/admin/durability', { headers })).status, 403)
    assert.equal((await origin.ask('/svc/node/admin/status', { headers })).status, 401)
  })

  await t.test('sessions are listed, and end when they are told to', async () => {
    const { id, headers } = await origin.enter(await origin.code())
    const other = await origin.enter(await origin.code())
    const list = (await (await origin.ask('/svc/node/admin/console/sessions', { headers })).json()) as { id: string }[]
    assert.ok(list.some((session) => session.id === other.id))
    const end = await origin.ask(`/svc/node/admin/console/sessions/${other.id}/revoke`, { method: 'POST', headers })
    assert.equal(end.status, 204)
    assert.equal((await origin.ask('/console/session', { headers: other.headers })).status, 401)
    assert.equal(((await (await origin.ask('/console/session', { headers })).json()) as { id: string }).id, id)
    assert.equal((await origin.ask('/console/session', { method: 'DELETE', headers })).status, 204)
    assert.equal((await origin.ask('/svc/node/admin/status', { headers })).status, 401)
  })

  await t.test('one stream tells how the node is, and what happens in every service', async () => {
    const { headers } = await origin.enter(await origin.code())
    const response = await origin.ask('/svc/node/admin/live', { headers })
    assert.equal(response.headers.get('content-type'), 'text/event-stream')
    await origin.ask('/svc/storage/o', { method: 'POST', headers, body: 'something new' })
    const text = await until(response, (said) => said.includes('storage.ingest') && said.includes('event: now'))
    const now = JSON.parse(/event: now\ndata: (.*)\n/.exec(text)![1]!) as {
      status: { services: unknown[] }
      queues: unknown[]
    }
    assert.equal(now.status.services.length, 5)
    assert.ok(now.queues.length > 5)
  })

  await t.test('after many wrong codes none is judged for a while', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 12 }, async (_, at) => (await origin.signIn(`no such code ${at}`)).status),
    )
    assert.ok(outcomes.includes(429), outcomes.join(' '))
    assert.equal(await refusal(await origin.signIn(await origin.code())), '429 too_many_tries')
  })

  await t.test('a browser meets a problem as a page, a program as JSON', async () => {
    const asBrowser = { accept: 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8', 'sec-fetch-dest': 'document' }
    for (const service of ['node', 'storage', 'registry', 'index', 'edge', 'interop']) {
      const url = `${urls[service]![0]!}/%3Cb%3Enope`
      const page = await fetch(url, { headers: asBrowser })
      const problem = (await (await fetch(url)).json()) as { status: number; detail: string; code: string }
      assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8', service)
      assert.match(page.headers.get('content-security-policy') ?? '', /^default-src 'none'; style-src 'sha256-/)
      const text = await page.text()
      assert.equal(page.status, problem.status)
      assert.ok(text.includes(problem.code) && !text.includes('<b>'), service)
      const embedded = await fetch(url, { headers: { ...asBrowser, 'sec-fetch-dest': 'empty' } })
      assert.equal(embedded.headers.get('content-type'), 'application/problem+json')
    }
  })

  assert.deepEqual(await node.stop(), { code: 0, signal: null })
  const warnings = node.stderr.all.filter((line) => !line.startsWith('{'))
  assert.deepEqual(warnings, [], 'what it says besides its log')
})
