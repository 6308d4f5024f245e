/** What the launcher does under a Node that is too old, with packages beside it as npm would put them there. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

const BIN = new URL('../bin/', import.meta.url)
const OLDER = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.11.0' } })`
const SYSTEM = `${process.platform}-${process.arch}`
/** In place of a Node: it says what it was given to run. */
const STAND_IN = '#!/bin/sh\necho "ran $*"\n'

interface Sums {
  readonly source: string
  readonly sums: Record<string, string>
}

const SUMS = JSON.parse(readFileSync(new URL('node-sums.json', BIN), 'utf8')) as Sums

function launch(
  name: string,
  sum: string,
): { readonly code: number | null; readonly out: string; readonly err: string } {
  const root = mkdtempSync(join(tmpdir(), 'launcher-'))
  try {
    const folder = join(root, 'node_modules', name)
    mkdirSync(join(folder, 'bin'), { recursive: true })
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ version: '26.10.0', bin: { node: 'bin/node' } }))
    writeFileSync(join(folder, 'bin/node'), STAND_IN)
    chmodSync(join(folder, 'bin/node'), 0o755)
    copyFileSync(new URL('cairn.js', BIN), join(root, 'cairn.mjs'))
    writeFileSync(join(root, 'node-sums.json'), JSON.stringify({ sums: { [`${SYSTEM} 26.10.0`]: sum } }))
    const flags = ['--import', `data:text/javascript,${encodeURIComponent(OLDER)}`, join(root, 'cairn.mjs'), 'status']
    const { status, stdout, stderr } = spawnSync(process.execPath, flags, { encoding: 'utf8' })
    return { code: status, out: stdout, err: stderr }
  } finally {
    rmSync(root, { recursive: true })
  }
}

test('an old Node hands over to one of the dependencies, if that has the sum it must have', () => {
  const sum = createHash('sha256').update(STAND_IN).digest('hex')
  for (const name of [`cairnd-node-${SYSTEM}`, `node-${SYSTEM}`]) {
    const { code, out, err } = launch(name, sum)
    assert.equal(code, 0, err)
    assert.match(out, /^ran \S*cairn\.mjs status$/m)
  }
})

test('one with another sum is not run, and its path is said', () => {
  const { code, out, err } = launch(`cairnd-node-${SYSTEM}`, createHash('sha256').update('other').digest('hex'))
  assert.equal(code, 2)
  assert.equal(out, '')
  assert.match(err, /cairnd-node-.*node is not the one whose sum this cairn knows/)
})

test('the sum of every Node the repository pins is known, and where it comes from', () => {
  const root = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    readonly optionalDependencies: Readonly<Record<string, string>>
  }
  const pinned = Object.entries(root.optionalDependencies).map(([name, version]) => {
    return `${name.replace(/^node-(bin-)?/, '').replace(/^win-/, 'win32-')} ${version}`
  })
  assert.deepEqual(Object.keys(SUMS.sums).sort(), pinned.sort())
  assert.match(SUMS.source, /not verified/)
})
