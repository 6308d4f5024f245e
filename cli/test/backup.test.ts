/** A backup made while the node is written to, and a node out of it. */
import assert from 'node:assert/strict'
import { chmod, open, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { SystemClock } from '@cairn/kernel'
import { addressOf } from '@cairn/wire'
import { main } from '../src/main.ts'
import { Capture } from './capture.ts'
import { InnerNode } from './inner-node.ts'
import { type Ran, Workplace } from './processes.ts'

let place: Workplace
let node: InnerNode
let token: string

/** In this process, which is quicker; the streams are the same. */
async function cairn(...args: readonly string[]): Promise<Ran> {
  const terminal = new Capture()
  const code = await main(args, terminal)
  return { code, data: terminal.data, words: terminal.words }
}

function path(name: string): string {
  return join(place.directory, name)
}

async function put(text: string): Promise<string> {
  const headers = { authorization: `Bearer ${token}` }
  const answer = await fetch(`${node.urls['storage']?.[0]}/o`, { method: 'POST', body: text, headers })
  assert.ok(answer.ok, await answer.text())
  return addressOf(Buffer.from(text))
}

before(async () => {
  place = await Workplace.make()
  node = await InnerNode.start({ data: path('data') })
  token = (await readFile(path('data/admin.token'), 'utf8')).trim()
})
after(async () => {
  await node[Symbol.asyncDispose]()
  await place[Symbol.asyncDispose]()
})

describe('a backup of a node that runs', () => {
  test('holds everything acknowledged before it began, however much is written meanwhile', async () => {
    const acknowledged = [await put('first'), await put('second')]
    const clock = new SystemClock()
    const state = { isOver: false }
    const writing = (async () => {
      for (let at = 0; !state.isOver; at += 1) await put(`meanwhile ${at} ${clock.now()}`)
    })()
    await writeFile(path('pass'), 'a passphrase\n')
    const made = await cairn(
      'backup',
      'create',
      path('backup'),
      '--data',
      path('data'),
      '--passphrase-file',
      path('pass'),
    )
    state.isOver = true
    await writing
    assert.deepEqual([made.code, made.data], [0, `${path('backup')}\n`], made.words)
    const restored = await cairn('backup', 'restore', path('backup'), '--data', path('new'), '--json')
    assert.equal(restored.code, 0, restored.data)
    const { result } = JSON.parse(restored.data) as { result: { records: number; keys: string } }
    // Each object here is two records: the chunk and the object itself.
    assert.ok(result.records >= 2 * acknowledged.length && result.keys === 'new', restored.data)
    const journal = await readFile(path('new/storage/journal/0000000001.seg'))
    for (const text of ['first', 'second']) assert.ok(journal.includes(text), text)
    assert.equal((await cairn('backup', 'create', path('backup'), '--data', path('data'))).code, 8)
    assert.equal((await cairn('backup', 'restore', path('backup'), '--data', path('new'))).code, 8)
  })

  test('brings its keys along only to who has the passphrase', async () => {
    await writeFile(path('wrong'), 'another\n')
    const flags = (file: string) => ['--data', path('same'), '--passphrase-file', path(file)]
    assert.equal((await cairn('backup', 'restore', path('backup'), ...flags('wrong'))).code, 7)
    assert.equal((await cairn('backup', 'restore', path('backup'), ...flags('pass'))).code, 0)
    const key = 'keys/token-root'
    assert.deepEqual(await readFile(path(`same/${key}`)), await readFile(path(`data/${key}`)))
    assert.notDeepEqual(await readFile(path(`new/${key}`)), await readFile(path(`data/${key}`)))
    assert.match(await readFile(path('same/registry/restored'), 'utf8'), /adopt/)
  })

  test('is refused with one byte changed, and leaves no data directory behind', async () => {
    const segment = path('backup/storage/journal/0000000001.seg')
    await using file = await open(segment, 'r+')
    await file.write(Buffer.from('X'), 0, 1, 300)
    const refused = await cairn('backup', 'restore', path('backup'), '--data', path('never'))
    assert.equal(refused.code, 4)
    assert.match(refused.words, /storage\/journal\/0000000001\.seg/)
    await assert.rejects(open(path('never'), 'r'))
  })
})

describe('the doctor', () => {
  test('looks at a running node, remembers the backup, and names what is open to others', async () => {
    const well = await cairn('doctor', '--data', path('data'))
    assert.equal(well.code, 0, well.data)
    assert.match(well.data, /^✔ node +pid \d+, every service is ready$/m)
    assert.match(well.data, /^✔ drive .* free; sync takes [\d.]+ ms$/m)
    assert.match(well.data, /^✔ backup +the last one is from \d{4}-/m)
    await chmod(path('new'), 0o755)
    const open = await cairn('doctor', '--data', path('new'), '--json')
    const { result } = JSON.parse(open.data) as { result: { findings: { check: string; remedy?: string }[] } }
    assert.equal(result.findings.find(({ check }) => check === 'data')?.remedy, `chmod 700 ${path('new')}`)
    assert.equal(open.code, 7)
  })

  test('says which key is wrong, with its place, and exits 2', async () => {
    await writeFile(path('bad.toml'), '[storage]\nbind_adr = "x"\n')
    const { code, data } = await cairn('doctor', '--data', path('none'), '--config', path('bad.toml'))
    assert.equal(code, 2)
    assert.match(data, /✖ config +\S*bad\.toml:2:1: .*did you mean storage\.bind_addr/)
    assert.match(data, /→ npx cairn config validate/)
  })
})
