/** Directories as programs need them: executable files, links, and nothing written or read outside. */
import assert from 'node:assert/strict'
import { chmod, lstat, mkdir, readdir, readFile, readlink, rename, symlink, writeFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { encodeTree, type TreeEntry } from '@cairn/wire'
import { writeDirectory } from '../src/local-files.ts'
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

async function putTree(entries: readonly TreeEntry[]): Promise<string> {
  await writeFile(path('tree'), encodeTree(entries))
  return (await cairn(['put', '-q', path('tree')])).data.trim()
}

/** Every path below with what there is: kind, executable bit, bytes or target. */
async function stateOf(directory: string, below = ''): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  for (const entry of await readdir(`${directory}${below}`, { withFileTypes: true })) {
    const shown = `${below}/${entry.name}`
    const name = `${directory}${shown}`
    if (entry.isSymbolicLink()) found[shown] = `link ${await readlink(name)}`
    else if (entry.isFile()) found[shown] = `${(await lstat(name)).mode & 0o111} ${await readFile(name, 'latin1')}`
    else Object.assign(found, { [shown]: 'directory' }, await stateOf(directory, shown))
  }
  return found
}

async function writeSample(): Promise<void> {
  await mkdir(path('app/bin'), { recursive: true })
  await mkdir(path('app/lib/empty'), { recursive: true })
  await writeFile(path('app/lib/x.so.1'), 'library')
  await writeFile(path('app/bin/run'), '#!/bin/sh\n')
  await chmod(path('app/bin/run'), 0o755)
  await symlink('x.so.1', path('app/lib/x.so'))
  await symlink('../lib/x.so', path('app/bin/x'))
  await symlink('not there', path('app/dangling'))
  await symlink('.', path('app/self'))
}

test('executable files, links and empty directories come back, and give the same address again', async () => {
  await writeSample()
  const stored = await cairn(['put', path('app')])
  assert.equal(stored.code, 0, stored.words)
  const address = stored.data.trim()
  const got = await cairn(['get', address, '-o', path('app-back')])
  assert.equal(got.code, 0, got.words)
  assert.deepEqual(await stateOf(path('app-back')), await stateOf(path('app')))
  assert.equal((await lstat(path('app-back'))).mode, (await lstat(path('app'))).mode)
  assert.equal((await cairn(['put', '-q', path('app-back')])).data.trim(), address)
  const listed = (await cairn(['ls', address])).data
  assert.match(listed, /^-  link  -  dangling -> not there$/m)
  const bin = /^(b3:\S+) {2}tree {2}\d+ {2}bin$/m.exec(listed)?.[1] ?? ''
  assert.match((await cairn(['ls', bin])).data, /^b3:\S+ {2}exec {2}10 {2}run$/m)

  // Over what is there: entries of the tree are replaced whatever they were, but for directories, and others stay.
  await writeFile(path('app-back/own'), 'own')
  await chmod(path('app-back/bin/run'), 0o644)
  const again = await cairn(['get', address, '-o', path('app-back'), '--force'])
  assert.equal(again.code, 0, again.words)
  assert.deepEqual(await stateOf(path('app-back')), { ...(await stateOf(path('app'))), '/own': '0 own' })
})

test('links are followed or left out where that is asked for, and named where they have no place', async () => {
  await mkdir(path('odd/real'), { recursive: true })
  await writeFile(path('odd/real/file'), 'x')
  await symlink('real', path('odd/short'))
  await symlink('short/file', path('odd/through'))
  await symlink('../outside', path('odd/out'))
  await symlink(path('odd/real'), path('odd/absolute'))
  await symlink('../real', path('odd/real/around'))
  const kept = await cairn(['put', path('odd')])
  assert.equal(kept.code, 9)
  assert.match(kept.words, /odd\/out: left out, it leads out of the directory/)
  assert.match(kept.words, /odd\/through: left out, it leads through another link/)
  assert.match(kept.words, /odd\/absolute: left out, its target is absolute/)
  const names = async (ran: Ran): Promise<string> =>
    (await cairn(['ls', ran.data.trim()])).data.replaceAll(/^\S+ {2}(\S+) {2}\S+ {2}/gm, '$1 ')
  assert.equal(await names(kept), 'tree real\nlink short -> real\n')
  const skipped = await cairn(['put', path('odd'), '--links', 'skip'])
  assert.equal(skipped.code, 0, skipped.words)
  assert.equal(await names(skipped), 'tree real\n')
  const followed = await cairn(['put', path('odd'), '--links', 'follow'])
  assert.equal(followed.code, 9)
  assert.match(followed.words, /odd\/real\/around: left out, it leads to a directory it lies in/)
  assert.match(followed.words, /odd\/out: left out, it leads to no file/)
  assert.equal(await names(followed), 'tree absolute\ntree real\ntree short\nfile through\n')
})

test('a hostile tree writes nothing, neither inside nor outside', async () => {
  await mkdir(path('outside'))
  const inner = await putTree([{ name: 'l', kind: 'link', target: '../../outside' }])
  const trees = [
    [{ name: 'l', kind: 'link', target: '../outside' }],
    [{ name: 'below', kind: 'tree', id: inner as `b3:${string}`, size: 1 }],
    [
      { name: 'a', kind: 'link', target: 'b' },
      { name: 'c', kind: 'link', target: 'a/outside' },
    ],
  ] as const
  for (const entries of trees) {
    const address = await putTree(entries)
    const got = await cairn(['get', address, '-o', path('hostile')])
    assert.equal(got.code, 2, got.words)
    assert.match(got.words, /leads out of the directory|leads through another link/)
    const left = await readdir(place.directory)
    assert.ok(!left.some((name) => name === 'hostile' || name.startsWith('.cairn-')), left.join())
  }
  assert.deepEqual(await readdir(path('outside')), [])
})

test('a directory exchanged for a link while files are written does not lead outside', async () => {
  if (process.platform !== 'linux') return
  await mkdir(path('elsewhere'))
  const write = async (target: string, exchange: () => Promise<void>): Promise<void> => {
    await writeDirectory(target, async (writer) => {
      const below = await writer.directory('below')
      await exchange()
      await below.file('late', bytesOf('late'), { executable: false })
      await writer.file('top', bytesOf('top'), { executable: false })
    })
  }
  // The part of a new directory, and that of one that is there, each moved away and replaced by a link.
  await mkdir(path('there'))
  for (const [parent, target] of [
    [place.directory, path('new')],
    [path('there'), path('there')],
  ] as const) {
    await write(target, async () => {
      const part = (await readdir(parent)).find((name) => name.startsWith('.cairn-'))
      await rename(`${parent}/${part}`, path('moved'))
      await symlink(path('elsewhere'), `${parent}/${part}`)
    })
    assert.deepEqual(await readdir(path('elsewhere')), [])
    assert.equal(await readFile(`${target}/below/late`, 'utf8'), 'late')
    assert.equal(await readFile(`${target}/top`, 'utf8'), 'top')
    assert.deepEqual(await readdir(path('moved')), [])
    await rename(path('moved'), path(`moved-${target.length}`))
  }
  // The target itself, exchanged between the look and the writing.
  await mkdir(path('target'))
  const exchanged = write(path('target'), async () => {
    await rename(path('target'), path('target-moved'))
    await symlink(path('elsewhere'), path('target'))
  })
  await assert.rejects(exchanged, { code: 'file_exists' })
  assert.deepEqual(await readdir(path('elsewhere')), [])
})

function bytesOf(text: string): ReadableStream<Uint8Array> {
  return new Blob([text]).stream()
}
