/** A directory under a name with one command, as far as the signer of the machine can bring it. */
import assert from 'node:assert/strict'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { addressOf } from '@cairn/wire'
import { main } from '../src/main.ts'
import { Capture } from './capture.ts'
import { InnerNode } from './inner-node.ts'
import { type Ran, Workplace } from './processes.ts'

let place: Workplace
let running: InnerNode
const path = (name: string): string => `${place.directory}/${name}`

before(async () => {
  place = await Workplace.make()
  await mkdir(path('site/css'), { recursive: true })
  await writeFile(path('site/index.html'), '<h1>first</h1>')
  await writeFile(path('site/css/a.css'), 'h1 {}')
  running = await InnerNode.start({ data: path('.cairn') })
})
after(async () => {
  await running[Symbol.asyncDispose]()
  await place[Symbol.asyncDispose]()
})

async function cairn(args: readonly string[], data = '.cairn'): Promise<Ran> {
  const terminal = new Capture({ environment: { HOME: path('home') } })
  const code = await main([...args, '--data', path(data)], terminal)
  return { code, data: terminal.data, words: terminal.words }
}

async function told(args: readonly string[], data?: string): Promise<string> {
  const ran = await cairn(args, data)
  assert.equal(ran.code, 0, ran.words)
  return ran.data.trim()
}

async function bodyOf(url: string): Promise<string> {
  const response = await fetch(url)
  return `${response.status} ${await response.text()}`
}

test('one command from a directory to a page in a browser; another moves the name', async () => {
  const first = await cairn(['publish', path('site'), 'site@live', '--note', 'hello'])
  assert.equal(first.code, 0, first.words)
  const [address = '', url = '', ...rest] = first.data.trim().split('\n')
  assert.deepEqual(rest, [])
  assert.match(url, /^http:\/\/127\.0\.0\.1:\d+\/edge\/assets\/n\/site@live\/$/)
  assert.match(first.words, /^✔ published site@live, version 1 of the registry: 2 files, 19 B/)
  assert.equal(address, await told(['put', '-q', path('site')]))
  assert.equal(await bodyOf(url), '200 <h1>first</h1>')

  const same = JSON.parse(await told(['publish', path('site'), 'site@live', '--json'])) as {
    result: { status: string; version: number; urls: string[] }
  }
  assert.deepEqual([same.result.status, same.result.version, same.result.urls], ['unchanged', 1, [url]])

  await writeFile(path('site/index.html'), '<h1>second</h1>')
  const rehearsed = await cairn(['publish', path('site'), 'site@live', '--dry-run'])
  assert.match(rehearsed.words, /^✔ nothing was stored or proposed; it would be\n {2}site@live .*b3:/)
  const { result } = JSON.parse(await told(['publish', path('site'), 'site@live', '--json'])) as {
    result: { address: string; status: string; version: number }
  }
  assert.deepEqual([result.address, result.status, result.version], [rehearsed.data.trim(), 'published', 2])
  assert.equal(await told(['ls', 'site@live']), await told(['ls', result.address]))
})

test('what a tree cannot hold whole is not published', async () => {
  await mkdir(path('broken'))
  await symlink('/etc/hostname', path('broken/link'))
  const ran = await cairn(['publish', path('broken'), 'broken@live'])
  assert.equal(ran.code, 9)
  assert.match(
    ran.words,
    /broken was not published, for it is not whole:\n.*broken\/link: left out, its target is absolute/,
  )
  assert.equal((await cairn(['name', 'show', 'broken@live'])).code, 3)
  assert.equal((await cairn(['publish', path('broken'), 'broken@live', '--links', 'skip'])).code, 0)
})

test('where others must sign too, it says who and how', async () => {
  const ids = ['alice', 'bob', 'carol']
  const lines = []
  for (const id of ids) lines.push(await told(['key', 'new', path(`${id}.key`), '--id', id]))
  const roots = `{"m": 2, "signers": [${lines.join(',')}]}`
  await writeFile(path('roots.json'), roots)
  const hash = addressOf(new TextEncoder().encode(roots))
  const file = JSON.stringify(path('roots.json'))
  await writeFile(
    path('two.toml'),
    `[registry.bootstrap]\norigin = "example.org"\ntrust_roots_path = ${file}\ntrust_roots_hash = "${hash}"\n`,
  )
  await using node = await InnerNode.start({ data: path('two'), config: path('two.toml') })
  assert.ok(node.urls['edge'] !== undefined)
  const waiting = await cairn(['publish', path('site'), 'site@live', '--key', path('alice.key')], 'two')
  assert.equal(waiting.code, 0, waiting.words)
  assert.match(waiting.data, /^b3:[0-9a-f]{64}\n$/)
  assert.match(waiting.words, /not published yet/)
  assert.match(waiting.words, /It needs 2 approvals and has 1; ask 1 of bob, carol\./)
  const id = /name approve (p_[0-9a-f]{32})/.exec(waiting.words)?.[1] ?? ''
  await told(['name', 'approve', '--yes', id, '--key', path('bob.key')], 'two')
  await told(['name', 'commit', id], 'two')
  const published = await told(['publish', path('site'), 'site@live'], 'two')
  assert.equal(await bodyOf(published.split('\n')[1] ?? ''), '200 <h1>second</h1>')
})

test('hash prints what put prints, whatever the size', async () => {
  for (const size of [0, 1, 65_535, 65_536, 65_537, 1_048_577])
    await writeFile(path(`of-${size}`), new Uint8Array(size))
  await writeFile(path('site/big'), new Uint8Array(300_000).fill(7))
  const paths = ['of-0', 'of-1', 'of-65535', 'of-65536', 'of-65537', 'of-1048577', 'site'].map(path)
  assert.equal(await told(['hash', ...paths], 'nowhere'), await told(['put', '-q', ...paths]))
})
