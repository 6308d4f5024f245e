import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { ask } from './asking.ts'
import { hasCurl } from './curl.ts'
import { Home, type RunningNode } from './running-node.ts'
import { Asker, publishedOperations } from './storage-row.ts'
import { commonRefusals, OWN_ROWS } from './storage-rows.ts'

const ARGS = ['--amnesia', '--port-base', '0']

/** Whether one process may watch another here. */
function hasStrace(): boolean {
  return spawnSync('strace', ['-qq', '-e', 'trace=none', 'true'], { stdio: 'ignore' }).status === 0
}

/** The administrator's, as the banner shows it. */
async function tokenOf({ stderr }: RunningNode): Promise<string> {
  return /^ {2}Token {4}(\S+)$/.exec(await stderr.find((line) => line.startsWith('  Token')))?.[1] ?? ''
}

const SECRET = 'kept in a file'
/** An archive of one tile, zoom 0. */
const PMTILES = [
  'UE1UaWxlcwN/AAAAAAAAABkAAAAAAAAAmAAAAAAAAAAjAAAAAAAAALsAAAAAAAAAAAAAAAAAAAC7AAAAAAAAAAYAAAAAAAAA',
  'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAQIBAgAAAC62lIAHVs0A0klrgPipMgAAAAAAAAAAAB+LCAAAAAAAAANjZGBkYwQA',
  'iiPd2wUAAAAfiwgAAAAAAAADq1bKS8xNVbJSyk1MSVWqBQAgjFNLDwAAAGEgdGlsZQ==',
].join('')

/** Packs of both kinds and a secret, on the drive; where the file is that names them. */
async function configured(directory: string): Promise<string> {
  await writeFile(`${directory}/map.pmtiles`, Buffer.from(PMTILES, 'base64'))
  using database = new DatabaseSync(`${directory}/map.mbtiles`)
  database.exec(`CREATE TABLE metadata (name TEXT, value TEXT);
    CREATE TABLE tiles (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_data BLOB);
    INSERT INTO metadata VALUES ('format', 'png'); INSERT INTO tiles VALUES (0, 0, 0, CAST('a tile' AS BLOB));`)
  await writeFile(`${directory}/secret`, `${SECRET}\n`)
  const packs = ['pmtiles', 'mbtiles'].map((kind) => `{ name = "${kind}", path = "${directory}/map.${kind}" }`)
  const github = ['[interop.providers.github]', 'enabled = true', `secrets = [{ file = "${directory}/secret" }]`]
  await writeFile(`${directory}/node.toml`, ['[edge]', `packs = [${packs.join(', ')}]`, ...github, ''].join('\n'))
  return `${directory}/node.toml`
}

/** A tile of each pack, and a webhook. */
async function askBridges(urls: Readonly<Record<string, readonly string[]>>): Promise<void> {
  for (const kind of ['pmtiles', 'mbtiles']) {
    const tile = await fetch(new URL(`/edge/assets/p/${kind}/0/0/0`, urls['edge']?.[0]))
    assert.deepEqual([tile.status, await tile.text()], [200, 'a tile'], kind)
  }
  const body = '{"ref":"refs/heads/main"}'
  const signature = createHmac('sha256', SECRET).update(body).digest('hex')
  const headers = { 'x-github-event': 'push', 'x-github-delivery': 'd', 'x-hub-signature-256': `sha256=${signature}` }
  const webhook = await fetch(new URL('/webhooks/github', urls['interop']?.[0]), { method: 'POST', headers, body })
  assert.equal(webhook.status, 202, await webhook.text())
}

test('with amnesia no file is written, the token is shown once, and everything works', async () => {
  await using home = await Home.make()
  await using elsewhere = await Home.make()
  const cache = `${elsewhere.path}/cache`
  const node = home.start({ args: ARGS, environment: { NODE_COMPILE_CACHE: cache } })
  const ready = await node.ready()
  assert.equal(ready.kept, false)
  const token = await tokenOf(node)
  const headers = { authorization: `Bearer ${token}` }
  const url = ready.urls['node']![0]!
  assert.equal((await ask(url, '/admin/keys/rotate', { method: 'POST', headers })).status, 200)
  assert.equal((await ask(url, '/admin/status', { headers })).status, 200)
  assert.deepEqual(await node.stop(), { code: 0, signal: null })
  assert.ok(!node.stdout.text.includes(token), 'the token is no data')
  assert.deepEqual(await readdir(home.path), [])
  // The launcher itself was compiled before it could say no; nothing after it was.
  const compiled = await readdir(cache, { recursive: true, withFileTypes: true })
  assert.ok(compiled.filter((entry) => entry.isFile()).length <= 1)
})

test('with amnesia no file is even opened for writing, whatever is asked; what the configuration names is read', async (t) => {
  if (!hasStrace() || !hasCurl()) {
    t.skip('tool absent: strace or curl')
    return
  }
  await using home = await Home.make()
  await using record = await Home.make()
  const trace = `${record.path}/trace`
  const calls =
    'open,openat,creat,mkdir,mkdirat,rename,renameat,renameat2,unlink,unlinkat,link,linkat,symlink,symlinkat'
  const node = home.start({
    args: [...ARGS, '--config', await configured(record.path)],
    environment: { CAIRN__STORAGE__INGRESS__DECOMPRESS_MAX_BYTES: '512KiB' },
    under: ['strace', '-f', '-qq', '--seccomp-bpf', '-o', trace, '-e', `trace=${calls}`, process.execPath],
  })
  const ready = await node.ready()
  const asker = await Asker.of(ready, await tokenOf(node))
  for (const row of [...OWN_ROWS, ...commonRefusals(publishedOperations())]) await asker.ask(row)
  await askBridges(ready.urls)
  process.kill(ready.pid, 'SIGTERM')
  assert.deepEqual(await node.ended, { code: 0, signal: null })
  const lines = (await readFile(trace, 'utf8')).split('\n')
  assert.ok(
    lines.some((line) => line.includes('cli/src/main.ts')),
    'the trace does not show what was opened',
  )
  const isWrite = (line: string): boolean =>
    /O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND/.test(line) || /^\d+ +(?!open)\w+\(/.test(line)
  // Devices are not files: nothing written there is kept.
  const written = lines.filter((line) => isWrite(line) && !/"\/dev\/(?:null|tty|urandom)"/.test(line))
  assert.deepEqual(written, [])
  assert.deepEqual(await readdir(home.path), [])
})
