/** Names of files and objects that other people chose: as long as names can be, not text at all, or meant for a terminal. */
import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { encodeTree } from '@cairn/wire'
import { main } from '../src/main.ts'
import { Capture } from './capture.ts'
import { InnerNode } from './inner-node.ts'
import { type Ran, Workplace } from './processes.ts'

let place: Workplace
let running: InnerNode
const path = (name: string): string => `${place.directory}/${name}`

before(async () => {
  place = await Workplace.make()
  running = await InnerNode.start({ data: path('.cairn') })
})
after(async () => {
  await running[Symbol.asyncDispose]()
  await place[Symbol.asyncDispose]()
})

async function cairn(args: readonly string[]): Promise<Ran> {
  const terminal = new Capture()
  const code = await main([...args, '--data', path('.cairn')], terminal)
  return { code, data: terminal.data, words: terminal.words }
}

test('names as long as a name can be come back, with nothing left beside them', async () => {
  const names = [200, 242, 243, 244, 250, 254, 255].map((length) => 'n'.repeat(length))
  await mkdir(path(`long/${'d'.repeat(255)}`), { recursive: true })
  for (const name of names) {
    await writeFile(path(`long/${name}`), name)
    await writeFile(path(`long/${'d'.repeat(255)}/${name}`), name)
  }
  const stored = await cairn(['put', '-q', path('long')])
  assert.equal(stored.code, 0, stored.words)
  const got = await cairn(['get', stored.data.trim(), '-o', path('long-back')])
  assert.equal(got.code, 0, got.words)
  assert.deepEqual(await readdir(path('long-back')), (await readdir(path('long'))).sort())
  for (const name of names) assert.equal(await readFile(path(`long-back/${'d'.repeat(255)}/${name}`), 'utf8'), name)
  const only = await cairn(['get', stored.data.trim(), '-o', path('o'.repeat(255))])
  assert.equal(only.code, 0, only.words)
  const file = (await cairn(['put', '-q', path(`long/${names[0]}`)])).data.trim()
  assert.equal((await cairn(['get', file, '-o', path('f'.repeat(255))])).code, 0)
})

test('a link that waits under the name of a part is not followed', async () => {
  const address = (await cairn(['put', '-q', path('.cairn/format')])).data.trim()
  await writeFile(path('victim'), 'untouched')
  // As parts were called once, and could be called again by somebody who guesses.
  await symlink(path('victim'), path(`.out.cairn-${process.pid}`))
  assert.equal((await cairn(['get', address, '-o', path('out')])).code, 0)
  assert.equal(await readFile(path('victim'), 'utf8'), 'untouched')
})

test('what cannot be written is named as what it is, also among many files', async () => {
  await mkdir(path('many'))
  for (let at = 0; at < 30; at += 1) await writeFile(path(`many/file-${at}`), String(at))
  const address = (await cairn(['put', '-q', path('many')])).data.trim()
  await mkdir(path('taken/file-3'), { recursive: true })
  const ran = await cairn(['get', address, '-o', path('taken'), '--force'])
  assert.equal(ran.code, 2, ran.words)
  assert.match(ran.words, /taken\/file-3 cannot be written: EISDIR/)
  assert.doesNotMatch(ran.words, /canceled|\.cairn-/)
  assert.ok(!(await readdir(path('taken'))).some((name) => name.startsWith('.cairn-')))
})

test('a file whose name is not UTF-8 is left out and named; the rest is stored', async () => {
  await mkdir(path('odd/below'), { recursive: true })
  await writeFile(path('odd/plain'), 'plain')
  await writeFile(Buffer.concat([Buffer.from(path('odd/caf')), Buffer.from([0xe9])]), 'latin-1')
  await mkdir(Buffer.concat([Buffer.from(path('odd/below/')), Buffer.from([0xff, 0x1b])]))
  const ran = await cairn(['put', path('odd')])
  assert.equal(ran.code, 9, ran.words)
  assert.match(ran.data, /^b3:[0-9a-f]{64}\n$/)
  assert.ok(ran.words.includes(`${path('odd')}/caf\\xe9: left out, its name is not UTF-8`), ran.words)
  assert.ok(ran.words.includes(`${path('odd')}/below/\\xff\\x1b: left out, its name is not UTF-8`), ran.words)
  assert.match((await cairn(['ls', ran.data.trim()])).data, / {2}below\n.* {2}plain\n$/)
  const { result } = JSON.parse((await cairn(['put', path('odd'), '--json'])).data) as {
    result: { objects: { skipped: string[] }[] }
  }
  assert.deepEqual(result.objects[0]?.skipped.toSorted(), [
    `${path('odd')}/below/\\xff\\x1b`,
    `${path('odd')}/caf\\xe9`,
  ])
})

test('a stored name is shown with what a terminal would act on written as numbers', async () => {
  const name = 'a\u001B[2J\u001B]0;owned\u0007\n\u202Eexe'
  const id = (await cairn(['put', '-q', path('many/file-1')])).data.trim()
  await writeFile(path('tree'), encodeTree([{ name, kind: 'file', id: id as `b3:${string}`, size: 1 }]))
  const tree = (await cairn(['put', '-q', path('tree')])).data.trim()
  const shown = await cairn(['ls', tree])
  assert.equal(shown.data, `${id}  file  1  a\\u{1B}[2J\\u{1B}]0;owned\\u{7}\\u{A}\\u{202E}exe\n`)
  const { result } = JSON.parse((await cairn(['ls', tree, '--json'])).data) as {
    result: { entries: { name: string }[] }
  }
  assert.equal(result.entries[0]?.name, name)
})

test('a directory that is not there is named, not the file that would have been written first', async () => {
  const address = (await cairn(['put', '-q', path('many/file-1')])).data.trim()
  for (const output of [path('no/dir/f'), path('many/file-1/f')]) {
    const ran = await cairn(['get', address, '-o', output])
    assert.equal(ran.code, 2, ran.words)
    assert.match(ran.words, /^✖ There is no directory \S+(?:\/no\/dir|file-1)\b/)
    assert.doesNotMatch(ran.words, /ENOENT|ENOTDIR|\.cairn-/)
  }
})
