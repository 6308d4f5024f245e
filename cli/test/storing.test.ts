/** `put`, `get`, `ls`, `rm` and `scrub` against a running node, as a shell runs them. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmod, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { addressOf, encodeTree } from '@cairn/wire'
import { main } from '../src/main.ts'
import { Capture } from './capture.ts'
import { InnerNode } from './inner-node.ts'
import { type Ran, Workplace } from './processes.ts'

let place: Workplace
let running: InnerNode
let storageUrl = ''
before(async () => {
  place = await Workplace.make()
  running = await InnerNode.start({ data: path('.cairn') })
  storageUrl = running.urls['storage']?.[0] ?? ''
})
after(async () => {
  await running[Symbol.asyncDispose]()
  await place[Symbol.asyncDispose]()
})

const path = (name: string): string => `${place.directory}/${name}`

/** In this process, which is quicker; the streams are the same. */
async function cairn(args: readonly string[], input = ''): Promise<Ran> {
  const terminal = new Capture({ input })
  const code = await main([...args, '--data', path('.cairn')], terminal)
  return { code, data: terminal.data, words: terminal.words }
}

async function put(bytes: Uint8Array | string): Promise<string> {
  await writeFile(path('to-put'), bytes)
  return (await cairn(['put', '-q', path('to-put')])).data.trim()
}

function patterned(length: number): Uint8Array {
  return new Uint8Array(length).map((_, index) => (index * 7) ^ (index >> 11))
}

test('a file goes in and comes out; standard output of put is the address', async () => {
  const bytes = patterned(5_000_001)
  await writeFile(path('in.bin'), bytes)
  const stored = await place.run(['put', 'in.bin'])
  assert.equal(stored.data, `${addressOf(bytes)}\n`)
  assert.match(stored.words, /^✔ stored 1 file, 5\.0 MB in .*\(\S+ k?M?B new, \S+ k?M?B already here\)\n$/)
  const again = await cairn(['put', '-q', path('in.bin')])
  assert.deepEqual(again, { code: 0, data: stored.data, words: '' })

  const address = stored.data.trim()
  const got = await place.run(['get', address, '-o', 'out.bin'])
  assert.equal(got.code, 0, got.words)
  assert.match(got.words, /^✔ every byte verified: 5\.0 MB/)
  assert.equal(Buffer.compare(await readFile(path('out.bin')), bytes), 0)
  const cut = place.launch(['get', address, '-q'])
  for await (const chunk of cut.stdout!) if (chunk !== undefined) break
  assert.deepEqual(await once(cut, 'close'), [130, null], 'a reader that leaves ends it')
  const piped = place.launch(['get', address, '-q'])
  const chunks: Buffer[] = []
  for await (const chunk of piped.stdout!) chunks.push(chunk as Buffer)
  assert.equal(Buffer.compare(Buffer.concat(chunks), bytes), 0)
})

test('a file that is there is not overwritten unless told to', async () => {
  const address = await put('new')
  await writeFile(path('mine'), 'old')
  const refused = await cairn(['get', address, '-o', path('mine')])
  assert.equal(refused.code, 8)
  assert.match(refused.words, /exists; --force/)
  assert.equal(await readFile(path('mine'), 'utf8'), 'old')
  assert.equal((await cairn(['get', address, '-o', path('mine'), '--force'])).code, 0)
  assert.equal(await readFile(path('mine'), 'utf8'), 'new')
})

test('a directory comes back as it was, with its empty directories', async () => {
  await mkdir(path('tree/a/b'), { recursive: true })
  await mkdir(path('tree/empty'))
  await writeFile(path('tree/a/b/deep.bin'), patterned(300_000))
  await writeFile(path('tree/ü x'), 'umlaut')
  await writeFile(path('tree/nothing'), '')
  const stored = await cairn(['put', path('tree')])
  assert.match(stored.data, /^b3:[0-9a-f]{64}\n$/)
  assert.match(stored.words, /stored 3 files/)
  const address = stored.data.trim()
  const got = await cairn(['get', address, '-o', path('back')])
  assert.match(got.words, /every byte verified: 3 files/)
  assert.deepEqual(await contentsOf(path('back')), await contentsOf(path('tree')))
  assert.equal((await cairn(['put', '-q', path('back')])).data, stored.data)
  const listed = await cairn(['ls', address])
  assert.match(
    listed.data,
    /^b3:\S+ {2}tree {2}\d+ {2}a\nb3:\S+ {2}tree {2}23 {2}empty\nb3:\S+ {2}file {2}0 {2}nothing\n/,
  )
  assert.equal((await cairn(['ls', await put('no tree')])).code, 2)

  // With --force into what is there: the files of the tree are replaced, others stay, links are not followed.
  await writeFile(path('back/nothing'), 'changed')
  await writeFile(path('back/own'), 'own')
  assert.equal((await cairn(['get', address, '-o', path('back'), '--force'])).code, 0)
  assert.equal(await readFile(path('back/nothing'), 'utf8'), '')
  assert.equal(await readFile(path('back/own'), 'utf8'), 'own')
})

test('a link in the way leads nowhere', async () => {
  await mkdir(path('outside'))
  await writeFile(path('outside/victim'), 'safe')
  await mkdir(path('box'))
  await symlink(path('outside'), path('box/sub'))
  await symlink(path('outside/victim'), path('box/victim'))
  await mkdir(path('bad/sub'), { recursive: true })
  await writeFile(path('bad/sub/victim'), 'overwritten')
  await writeFile(path('bad/victim'), 'replaced')
  const address = (await cairn(['put', '-q', path('bad')])).data.trim()
  const got = await cairn(['get', address, '-o', path('box'), '--force'])
  assert.equal(got.code, 8, got.words)
  assert.equal(await readFile(path('outside/victim'), 'utf8'), 'safe')
})

test('standard input is put, and what a pipe says is got', async () => {
  const piped = await cairn(['put', '-', '-q'], 'from a pipe')
  assert.equal(piped.data.trim(), addressOf(new TextEncoder().encode('from a pipe')))
  const got = await cairn(['get', piped.data.trim(), '-q'])
  assert.deepEqual(got, { code: 0, data: 'from a pipe', words: '' })
})

test('what could not be put is named, and the rest is put: exit code 9', async () => {
  await writeFile(path('good'), 'good')
  const mixed = await cairn(['put', path('good'), path('absent')])
  assert.equal(mixed.code, 9)
  assert.match(mixed.data, /^b3:\S+\n$/)
  assert.match(mixed.words, /absent: There is no/)
  assert.equal((await cairn(['put', path('absent')])).code, 3)

  await mkdir(path('linked'))
  await writeFile(path('linked/file'), 'x')
  await symlink('/etc/hostname', path('linked/link'))
  await symlink('file', path('linked/kept'))
  const left = await cairn(['put', '--json', path('linked')])
  assert.equal(left.code, 9)
  const { result } = JSON.parse(left.data) as { result: { objects: { skipped: string[]; files: number }[] } }
  assert.deepEqual(
    result.objects.map(({ skipped, files }) => [skipped, files]),
    [[[path('linked/link')], 1]],
  )
})

test('--progress=json goes to standard error, line by line', async () => {
  await writeFile(path('some'), patterned(200_000))
  const ran = await cairn(['put', '-q', '--progress=json', path('some')])
  const events = ran.words
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { event: string; bytes: number })
  assert.ok(events.every(({ event }) => event === 'progress'))
  assert.equal(events.at(-1)?.bytes, 200_000)
  assert.match(ran.data, /^b3:\S+\n$/)
})

test('a bar is drawn where somebody watches, and gone at the end', async () => {
  const terminal = new Capture({ isWatched: true, environment: { NO_COLOR: '1' } })
  await writeFile(path('watched'), patterned(200_001))
  assert.equal(await main(['put', path('watched'), '--data', path('.cairn')], terminal), 0)
  assert.match(terminal.words, /▕█+.*▏ \d+ % {2}200 kB\/200 kB/)
  assert.ok(terminal.words.includes('\r\u001B[K✔ stored 1 file'))
})

test('objects are listed page by page and removed; what is not there is exit code 3', async () => {
  const address = await put('to be removed')
  const listed = await cairn(['ls'])
  assert.ok(listed.data.includes(`${address}  13  application/octet-stream\n`))
  const rows = listed.data.trim().split('\n')
  const first = await cairn(['ls', '--limit', '2', '--json'])
  const { result, next } = JSON.parse(first.data) as { result: { objects: unknown[]; cursor: string }; next: string[] }
  assert.equal(result.objects.length, 2)
  assert.match(next[0] ?? '', /cairn ls .*--after b3:/)
  const rest = await cairn(['ls', '--after', result.cursor])
  assert.deepEqual(rest.data.trim().split('\n'), rows.slice(2))

  const removed = await cairn(['rm', address, '--json'])
  assert.deepEqual((JSON.parse(removed.data) as { result: unknown }).result, { address, removed: true })
  assert.equal(removed.code, 0)
  assert.equal((await cairn(['rm', address])).code, 3)
  assert.equal((await cairn(['get', address])).code, 3)
  assert.equal((await cairn(['get', 'b3:12'])).code, 2)
})

test('a scrub says what it read, and nothing about the rest', async () => {
  const begun = await cairn(['scrub'])
  assert.equal(begun.code, 0, begun.words)
  assert.doesNotMatch(begun.data + begun.words, /clean/)
  const ended = await cairn(['scrub', '--wait'])
  assert.match(
    ended.data,
    /^round {4}ended\nread {5}[\d ]+ chunks, [\d ]+ records, [\d.]+ .?B\nobjects {2}\d+ whole, 0 damaged\ndamaged {2}none of those read\n/,
  )
})

test('a wrong byte is exit code 4, and nothing is written', async () => {
  const bytes = patterned(300_000)
  const address = await put(bytes)
  const liar = createServer((request, response) => {
    const answer = async (): Promise<void> => {
      if (request.url === '/version') {
        response.end('{"service":"storage"}')
        return
      }
      const { range } = request.headers
      const truth = await fetch(`${storageUrl}${request.url}`, { headers: range === undefined ? {} : { range } })
      const body = Buffer.from(await truth.arrayBuffer())
      if (request.url?.startsWith('/o/') === true) body[body.length - 1]! ^= 1
      response.writeHead(truth.status, { 'content-type': truth.headers.get('content-type') ?? '' })
      response.end(body)
    }
    answer().catch(() => response.destroy())
  }).listen(0, '127.0.0.1')
  await once(liar, 'listening')
  const node = `http://127.0.0.1:${(liar.address() as AddressInfo).port}`
  const got = await cairn(['get', address, '-o', path('lie'), '--node', node])
  assert.equal(got.code, 4, got.words)
  assert.equal((await cairn(['get', await put('tiny'), '-o', path('lie'), '--node', node])).code, 4)
  assert.ok(!(await readdir(place.directory)).some((name) => name.includes('lie')))
  liar.close()
  liar.closeAllConnections()
})

test('who may not is exit code 7; reading needs no token', async () => {
  const address = await put('for all')
  const minted = await cairn(['token', 'mint', '-q', '--for', 'storage', '--scope', 'storage:hold', '--ttl', '1h'])
  await writeFile(path('narrow.token'), minted.data)
  const narrow = ['--node', storageUrl, '--token-file', path('narrow.token')]
  await writeFile(path('x'), 'x')
  assert.equal((await cairn(['put', path('x'), ...narrow])).code, 7)
  assert.equal((await cairn(['ls', ...narrow])).code, 7)
  const stranger = await cairn(['get', address, '-q', '--node', storageUrl, '--token-file', path('none.token')])
  assert.deepEqual(stranger, { code: 0, data: 'for all', words: '' })
})

test('no node is exit code 5; one that does not answer in time is 6', async () => {
  const terminal = new Capture()
  assert.equal(await main(['put', path('x'), '--data', path('nowhere')], terminal), 5)
  const silent = createServer((request, response) => {
    if (request.url === '/version') response.end('{"service":"storage"}')
  }).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const node = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`
  const ran = await cairn([
    'rm',
    addressOf(new Uint8Array(1)),
    '--node',
    node,
    '--token-file',
    path('.cairn/admin.token'),
    '--timeout',
    '200ms',
  ])
  assert.equal(ran.code, 6, ran.words)
  silent.close()
  silent.closeAllConnections()
})

test('interrupted, it says so with exit code 130 and ends at once', async () => {
  const child = place.launch(['put', '-', '--progress=json'], { input: 'pipe' })
  // It will not be read to its end.
  child.stdin!.on('error', () => undefined)
  child.stdin!.write(patterned(20_000_000))
  let words = ''
  child.stderr!.on('data', (chunk: Buffer) => {
    words += chunk.toString()
  })
  while (!words.includes('progress')) await once(child.stderr!, 'data')
  child.kill('SIGINT')
  const [code] = (await once(child, 'close')) as [number | null]
  assert.equal(code, 130)
  assert.match(words, /✖ Interrupted\./)
})

test('files that cannot be read or written are named', async (t) => {
  await writeFile(path('secret'), 'x')
  await chmod(path('secret'), 0)
  if (process.getuid?.() === 0) t.diagnostic('run as root: permissions are not looked at')
  else assert.equal((await cairn(['put', path('secret')])).code, 2)
  const address = await put('anything')
  const nowhere = await cairn(['get', address, '-o', path('no/such/place')])
  assert.equal(nowhere.code, 2)
  assert.match(nowhere.words, /There is no directory \S+no\/such to write place into/)
})

test('the bytes of a directory are only what a directory could be', async () => {
  const almost = Buffer.concat([encodeTree([]), Buffer.from('!')])
  const address = await put(almost)
  assert.equal((await cairn(['get', address, '-o', path('almost')])).code, 0)
  assert.equal(Buffer.compare(await readFile(path('almost')), almost), 0)
})

/** Every path below, with the bytes of the files. */
async function contentsOf(directory: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    const name = `${entry.parentPath}/${entry.name}`
    found[name.slice(directory.length)] = entry.isFile() ? (await readFile(name)).toString('hex') : 'directory'
  }
  return found
}
