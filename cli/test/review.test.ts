/** What a signer sees before signing: computed here from proved data, whatever the node says. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmod, mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { main } from '../src/main.ts'
import { Capture } from './capture.ts'
import { InnerNode } from './inner-node.ts'
import { type Ran, Workplace } from './processes.ts'

let place: Workplace
let running: InnerNode
let proposal = ''
const path = (name: string): string => `${place.directory}/${name}`

before(async () => {
  place = await Workplace.make()
  await mkdir(path('site/css'), { recursive: true })
  await writeFile(path('site/index.html'), 'first')
  await writeFile(path('site/gone.html'), 'gone')
  await writeFile(path('site/run'), '#!/bin/sh')
  await writeFile(path('site/css/a.css'), 'h1 {}')
  running = await InnerNode.start({ data: path('.cairn') })
  await told(['publish', path('site'), 'site@live'])
  await told(['registry', 'trust', '-o', path('trust.json')])
  await writeFile(path('site/index.html'), 'second')
  await writeFile(path('site/new\u001B[2J.html'), 'new')
  await rm(path('site/gone.html'))
  await chmod(path('site/run'), 0o755)
  await symlink('index.html', path('site/home'))
  const address = await told(['put', '-q', path('site')])
  proposal = await told(['name', 'propose', '-q', 'site@live', address, '--note', 'the second'])
})
after(async () => {
  await running[Symbol.asyncDispose]()
  await place[Symbol.asyncDispose]()
})

async function cairn(args: readonly string[], answer?: string): Promise<Ran> {
  const terminal = new Capture({ environment: { HOME: path('home') }, ...(answer === undefined ? {} : { answer }) })
  const code = await main([...args, '--data', path('.cairn')], terminal)
  return { code, data: terminal.data, words: terminal.words }
}

async function told(args: readonly string[]): Promise<string> {
  const ran = await cairn(args)
  assert.equal(ran.code, 0, ran.words)
  return ran.data.trim()
}

const CHANGES = [
  '    - gone.html',
  '    + home  (a link to index.html)',
  '    ~ index.html',
  '    + new\\u{1B}[2J.html',
  '    ~ run  (executable)',
].join('\n')

test('a review says what was, what would be, and which files differ', async () => {
  const ran = await cairn(['name', 'review', proposal, '--trust', path('trust.json')])
  assert.equal(ran.code, 0, ran.words)
  assert.match(ran.data, /note: the second\n/)
  assert.match(ran.data, /site@live: b3:[0-9a-f]{64} \(version 1, \S+, by local\)\n {2}becomes b3:/)
  assert.ok(ran.data.includes(`  5 files: 2 added, 1 removed, 2 changed\n${CHANGES}\n`), ran.data)
  assert.doesNotMatch(ran.words, /believed/)
  assert.match((await cairn(['name', 'review', proposal])).words, /is believed, not proved: name a trust file/)
  const { result } = JSON.parse(await told(['name', 'review', proposal, '--trust', path('trust.json'), '--json'])) as {
    result: { names: { is_proved: boolean; version: number; changes: { path: string; change: string }[] }[] }
  }
  assert.deepEqual([result.names[0]?.is_proved, result.names[0]?.version], [true, 1])
  assert.equal(result.names[0]?.changes.length, 5)
})

test('diff says the same of two addresses, and of a file and nothing else', async () => {
  const [from, to] = [await told(['hash', path('site/css')]), await told(['hash', path('site')])]
  assert.equal(await told(['diff', to, to]), '')
  assert.match(await told(['diff', from, to]), /^- a\.css\n\+ css\/a\.css\n\+ home/)
  const file = await told(['hash', path('site/index.html')])
  assert.equal(await told(['diff', file, await told(['hash', path('site/run')])]), '~ (the file)')
})

test('a node that lies about what a name stands for, or about a directory, is caught before anything is signed', async () => {
  const lies = {
    registry: (url: string, body: Buffer) =>
      url.includes('/proof/') ? Buffer.from(body.toString().replaceAll('"version":1', '"version":2')) : body,
    tree: (url: string, body: Buffer) => (url.includes('/s/o/') ? Buffer.from(body.map((byte) => byte ^ 1)) : body),
    payload: (url: string, body: Buffer) =>
      url.includes('/proposals/p_') ? Buffer.from(body.toString().replace('the second', 'harmless')) : body,
  }
  for (const [name, lie] of Object.entries(lies)) {
    const liar = await startLiar(lie)
    try {
      const node = `http://127.0.0.1:${(liar.address() as AddressInfo).port}`
      const flags = ['--node', node, '--token-file', path('.cairn/admin.token'), '--trust', path('trust.json')]
      const ran = await cairn(['name', 'approve', '--yes', proposal, ...flags])
      assert.equal(ran.code, 4, `${name}: ${ran.words}`)
      assert.doesNotMatch(ran.words, /approved as/)
    } finally {
      liar.close()
      liar.closeAllConnections()
    }
  }
  assert.match(await told(['name', 'pending']), /has 0/)
})

/** Passes on what the services say, altered. */
async function startLiar(lie: (url: string, body: Buffer) => Buffer): Promise<Server> {
  const server = createServer((request, response) => {
    const url = request.url ?? ''
    const own = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const answer = async (): Promise<void> => {
      if (url === '/version') return void response.end('{"service":"node"}')
      if (url === '/admin/status') {
        const services = [
          { name: 'registry', urls: [`${own}/r`] },
          { name: 'storage', urls: [`${own}/s`] },
        ]
        response.setHeader('content-type', 'application/json')
        return void response.end(JSON.stringify({ services }))
      }
      const service = url.startsWith('/r/') ? 'registry' : 'storage'
      const { range } = request.headers
      const truth = await fetch(`${running.urls[service]?.[0] ?? ''}${url.slice(2)}`, {
        headers: range === undefined ? {} : { range },
      })
      response.writeHead(truth.status, { 'content-type': truth.headers.get('content-type') ?? '' })
      response.end(lie(url, Buffer.from(await truth.arrayBuffer())))
    }
    answer().catch(() => response.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

test('a signature is given by a person who was asked, or by a program that says --yes', async () => {
  const silent = await cairn(['name', 'approve', proposal])
  assert.equal(silent.code, 2)
  assert.match(silent.words, /Nothing was signed: there is no terminal to ask at/)
  const declined = await cairn(['name', 'approve', proposal], 'n')
  assert.equal(declined.code, 8, declined.words)
  assert.ok(declined.words.includes(CHANGES.replaceAll('\n', '\n  ')), declined.words)
  assert.match(declined.words, /Sign as local\? \[y\/N\] /)
  const wrong = await told(['key', 'new', path('wrong.key'), '--id', 'local'])
  assert.ok(wrong.includes('local'))
  const refused = await cairn(['name', 'approve', proposal, '--yes', '--key', path('wrong.key')])
  assert.match(refused.words, /wrong\.key holds the key [0-9a-f]{16}, but the signer local has the key [0-9a-f]{16}\./)
  const signed = await cairn(['name', 'approve', proposal], 'y')
  assert.equal(signed.code, 0, signed.words)
  assert.equal((await cairn(['name', 'commit', proposal])).code, 0)
})
