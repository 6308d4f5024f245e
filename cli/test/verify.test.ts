/** What was downloaded against what a name means: offline, each difference by its path. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { appendFile, chmod, cp, mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { main } from '../src/main.ts'
import { Capture } from './capture.ts'
import { InnerNode } from './inner-node.ts'
import { type Ran, Workplace } from './processes.ts'

const CAIRN = fileURLToPath(new URL('../bin/cairn.js', import.meta.url))

let place: Workplace
const path = (name: string): string => `${place.directory}/${name}`
const PROVED = (): string[] => ['--proof', path('app.proof'), '--trust', path('trust.json')]

/** The node is gone before anything is verified. */
before(async () => {
  place = await Workplace.make()
  await mkdir(path('app/lib/empty'), { recursive: true })
  await writeFile(path('app/run'), '#!/bin/sh')
  await chmod(path('app/run'), 0o755)
  await writeFile(path('app/lib/data'), new Uint8Array(100_000).fill(7))
  await writeFile(path('app/lib/text'), 'text')
  await symlink('lib/text', path('app/link'))
  await writeFile(path('file'), 'one file')
  await using running = await InnerNode.start({ data: path('.cairn') })
  assert.ok(running.urls['storage'] !== undefined)
  await told(['publish', path('app'), 'app@1.0'])
  await told(['publish', path('file'), 'file@1.0'])
  await told(['registry', 'trust', '-o', path('trust.json')])
  await told(['name', 'show', 'app@1.0', '--proof', path('app.proof'), '--trees'])
  await told(['name', 'show', 'app@1.0', '--proof', path('bare.proof')])
  await told(['name', 'show', 'file@1.0', '--proof', path('file.proof'), '--trees'])
  await told(['name', 'show', 'app@1.0', '--at', '1', '--proof', path('version.proof')])
  await told(['get', 'app@1.0', '-o', path('got')])
})
after(async () => await place[Symbol.asyncDispose]())

async function cairn(args: readonly string[]): Promise<Ran> {
  const terminal = new Capture({ environment: { HOME: path('home') } })
  const code = await main([...args, '--data', path('.cairn')], terminal)
  return { code, data: terminal.data, words: terminal.words }
}

async function told(args: readonly string[]): Promise<void> {
  const ran = await cairn(args)
  assert.equal(ran.code, 0, ran.words)
}

/** A copy of the download, with something done to it. */
async function altered(name: string, alter: (at: (below: string) => string) => Promise<unknown>): Promise<string> {
  await cp(path('got'), path(name), { recursive: true, verbatimSymlinks: true })
  await alter((below) => path(`${name}/${below}`))
  return path(name)
}

test('a download is what its name means, and so is a file', async () => {
  const ran = await cairn(['verify', path('got'), ...PROVED()])
  assert.equal(ran.code, 0, ran.words)
  assert.match(
    ran.data,
    /^verdict +verified\n[\s\S]*says +\S+got is what app@1\.0 \S+ b3:[\s\S]*not checked +witnesses/,
  )
  assert.match(ran.words, /^✔ \S+got is what app@1\.0 \S+ b3:[0-9a-f]{64}\n$/)
  const trust = ['--trust', path('trust.json')]
  await told(['verify', path('file'), '--proof', path('file.proof'), ...trust])
  await told(['verify', path('got'), '--proof', path('version.proof'), ...trust])
})

test('each difference is a sentence with its path, and 4', async () => {
  const flip = async (file: string): Promise<void> => {
    const bytes = await readFile(file)
    bytes[70_000]! ^= 1
    await writeFile(file, bytes)
  }
  const cases: Readonly<Record<string, [alter: Parameters<typeof altered>[1], below: string, says: string]>> = {
    flipped: [(at) => flip(at('lib/data')), 'lib/data', 'has other bytes than in app@1.0.'],
    missing: [(at) => rm(at('lib/text')), 'lib/text', 'is missing.'],
    extra: [(at) => writeFile(at('lib/empty/more'), ''), 'lib/empty/more', 'is not part of app@1.0.'],
    plain: [(at) => chmod(at('run'), 0o644), 'run', 'is not executable and has to be.'],
    executable: [(at) => chmod(at('lib/text'), 0o755), 'lib/text', 'is executable and must not be.'],
    unlinked: [
      (at) => rm(at('link')).then(async () => await writeFile(at('link'), 'text')),
      'link',
      'is not the link to lib/text that it has to be.',
    ],
    linked: [
      (at) => rm(at('run')).then(async () => await symlink('lib/text', at('run'))),
      'run',
      'is a link to lib/text and no file.',
    ],
    outward: [(at) => symlink('/etc/hostname', at('out')), 'out', 'is not part of app@1.0: its target is absolute'],
  }
  for (const [name, [alter, below, says]] of Object.entries(cases)) {
    const directory = await altered(name, alter)
    const ran = await cairn(['verify', directory, ...PROVED()])
    assert.equal(ran.code, 4, name)
    const sentences = ran.words.split('\n').filter((line) => line.includes(`${directory}/`))
    assert.equal(sentences.length, 1, ran.words)
    assert.ok(sentences[0]?.includes(`${directory}/${below} ${says}`), ran.words)
    const json = await cairn(['verify', directory, ...PROVED(), '--json'])
    const { ok, result, error } = JSON.parse(json.data) as {
      ok: boolean
      result: { verdict: string; differences: { path: string }[] }
      error: { code: string }
    }
    assert.deepEqual([json.code, ok, result.verdict, error.code], [4, false, 'refused', 'differs'])
    assert.deepEqual(
      result.differences.map((each) => each.path),
      [`${directory}/${below}`],
    )
  }
})

test('an empty directory that is gone makes another tree, though no file differs', async () => {
  const directory = await altered('emptied', (at) => rm(at('lib/empty'), { recursive: true }))
  const ran = await cairn(['verify', directory, ...PROVED()])
  assert.equal(ran.code, 4)
  assert.match(ran.words, /no file differs: an empty directory does/)
})

test('without what the directories list, or with some of it damaged, nothing passes', async () => {
  const directory = await altered('bare', (at) => appendFile(at('lib/text'), '!'))
  const trust = ['--trust', path('trust.json')]
  const bare = await cairn(['verify', directory, '--proof', path('bare.proof'), ...trust])
  assert.equal(bare.code, 4)
  assert.match(bare.words, /bare is not what app@1\.0 \S+ b3:\S+ instead of b3:/)
  assert.match(bare.words, /which files differ is not known: there is no \S+bare\.proof\.trees/)
  await told(['verify', path('got'), '--proof', path('bare.proof'), ...trust])
  // A listing that lies is another tree, and no tree of this proof.
  const [root = ''] = (await readFile(path('app.proof.trees'), 'utf8')).split('\n')
  await writeFile(path('bare.proof.trees'), `${root.startsWith('A') ? 'B' : 'A'}${root.slice(1)}\n`)
  const lied = await cairn(['verify', directory, '--proof', path('bare.proof'), ...trust])
  assert.equal(lied.code, 4)
  assert.match(lied.words, /which files differ is not known: \S+ does not have the directory b3:/)
  await rename(path('bare.proof.trees'), path('other'))
})

test('what is not proved is not verified, whatever the files are', async () => {
  const home = path('home')
  await rm(home, { recursive: true, force: true })
  const untrusted = await cairn(['verify', path('got'), '--proof', path('app.proof')])
  assert.equal(untrusted.code, 4)
  assert.match(
    untrusted.words,
    /Consistent, NOT verified[\s\S]*npx cairn verify \S+got --proof \S+app\.proof --trust FILE/,
  )
  const bytes = await readFile(path('app.proof'))
  bytes[bytes.length >> 1]! ^= 1
  await writeFile(path('damaged.proof'), bytes)
  assert.equal(
    (await cairn(['verify', path('got'), '--proof', path('damaged.proof'), '--trust', path('trust.json')])).code,
    4,
  )
  const other = await cairn(['verify', path('got'), ...PROVED(), '--name', 'other@1.0'])
  assert.equal(other.code, 4)
  assert.match(other.words, /does not say that other@1\.0 \S+ anything/)
  assert.equal((await cairn(['verify', path('got')])).code, 2)
})

test('no network is needed', async (t) => {
  if (spawnSync('unshare', ['-n', 'true']).status !== 0) {
    t.skip('tool absent: unshare, or no permission for a network namespace')
    return
  }
  const run = (directory: string) =>
    spawnSync('unshare', ['-n', process.execPath, CAIRN, 'verify', directory, ...PROVED()], {
      cwd: place.directory,
      env: { PATH: process.env['PATH'], HOME: path('home') },
      encoding: 'utf8',
    })
  const whole = run(path('got'))
  assert.equal(whole.status, 0, whole.stderr)
  const missing = run(await altered('offline', (at) => rm(at('lib/text'))))
  assert.equal(missing.status, 4)
  assert.match(missing.stderr, /offline\/lib\/text is missing\./)
})
