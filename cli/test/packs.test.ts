/** Packs: verified without a node, and added to, listed at and taken from one that runs. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { after, before, test } from 'node:test'
import { addressOf } from '@cairn/wire'
import { main } from '../src/main.ts'
import { Capture } from './capture.ts'
import { InnerNode } from './inner-node.ts'
import { type Ran, Workplace } from './processes.ts'
import { samplePack } from './sample-pack.ts'

const WORLD = samplePack(['tile 0', 'tile 1', 'tile 2', 'tile 3', 'tile 4'], 1)
const OTHER = samplePack(['another'], 0)
const B3 = addressOf(WORLD)

let place: Workplace
let node: InnerNode | undefined
let edge = ''

before(async () => {
  place = await Workplace.make()
  await writeFile(path('world.pmtiles'), WORLD)
  await writeFile(path('other.pmtiles'), OTHER)
  await writeFile(path('cut.pmtiles'), WORLD.subarray(0, WORLD.length - 9))
  await writeFile(path('notes.txt'), 'no pack at all')
  await writeFile(path('cairn.toml'), '')
})
after(async () => {
  await node?.[Symbol.asyncDispose]()
  await place[Symbol.asyncDispose]()
})

const path = (name: string): string => `${place.directory}/${name}`

async function cairn(...args: readonly string[]): Promise<Ran> {
  const terminal = new Capture()
  const code = await main([...args, '--data', path('.cairn')], terminal)
  const masked = (text: string): string => text.replaceAll(place.directory, 'DIR')
  return { code, data: masked(terminal.data), words: masked(terminal.words) }
}

async function refused(exit: number, code: string, ...args: readonly string[]): Promise<string> {
  const { data } = await cairn(...args, '--json')
  const { error } = JSON.parse(data) as { error: { code: string; exit_code: number; detail: string } | null }
  assert.deepEqual([error?.code, error?.exit_code], [code, exit], error?.detail ?? 'it was not refused')
  return error?.detail ?? ''
}

async function startNode(): Promise<void> {
  node = await InnerNode.start({ data: path('.cairn'), config: path('cairn.toml'), services: 'edge' })
  edge = node.urls['edge']?.[0] ?? ''
}

/** The list, once the edge has opened everything on it. */
async function whenOpened(): Promise<Ran> {
  for (;;) {
    const listed = await cairn('pack', 'ls')
    if (!listed.data.includes('  opening  ')) return listed
  }
}

test('a file is told by what it holds, without a node', async () => {
  const { code, data, words } = await cairn('pack', 'verify', path('world.pmtiles'))
  assert.equal(code, 0, words)
  assert.equal(
    data,
    [
      'verdict      sound',
      'format       pmtiles',
      'tiles        5 tiles, png',
      'zooms        0 to 1',
      'bounds       -180 -85 180 85',
      `size         ${WORLD.length} B`,
      `b3           ${B3}`,
      'not checked  what is inside the tiles',
      '',
    ].join('\n'),
  )
  assert.match(words, /Next: {2}npx cairn pack add NAME DIR\/world\.pmtiles\n$/)
  const pinned = await cairn('pack', 'verify', path('world.pmtiles'), '--b3', B3, '--json')
  const { result } = JSON.parse(pinned.data) as { result: Readonly<Record<string, unknown>> }
  assert.deepEqual([pinned.code, result['verdict'], result['tiles'], result['b3']], [0, 'sound', 5, B3])
})

test('MBTiles are told as well', async () => {
  const database = new DatabaseSync(path('small.mbtiles'))
  database.exec('CREATE TABLE metadata (name text, value text)')
  database.exec('CREATE TABLE tiles (zoom_level integer, tile_column integer, tile_row integer, tile_data blob)')
  for (const [name, value] of Object.entries({ name: 'small', format: 'png', minzoom: '0', maxzoom: '1' }))
    database.prepare('INSERT INTO metadata VALUES (?, ?)').run(name, value)
  for (const [z, x, y] of [
    [0, 0, 0],
    [1, 0, 1],
  ] as const)
    database.prepare('INSERT INTO tiles VALUES (?, ?, ?, ?)').run(z, x, y, Buffer.from('tile'))
  database.close()
  const { code, data, words } = await cairn('pack', 'verify', path('small.mbtiles'))
  assert.equal(code, 0, words)
  assert.match(data, /^verdict {6}sound\nformat {7}mbtiles\ntiles {8}2 tiles, png\nzooms {8}0 to 1\n/)
})

test('a file that is damaged, another, none, or not there is refused, each with its own exit code', async () => {
  await refused(4, 'pack_corrupt', 'pack', 'verify', path('cut.pmtiles'))
  assert.match(await refused(4, 'pack_corrupt', 'pack', 'verify', path('notes.txt')), /neither PMTiles nor MBTiles/)
  await refused(3, 'no_file', 'pack', 'verify', path('none.pmtiles'))
  await refused(2, 'malformed', 'pack', 'verify', path('world.pmtiles'), '--b3', 'b3:00')
  const other = await cairn('pack', 'verify', path('other.pmtiles'), '--b3', B3)
  assert.equal(other.code, 4)
  assert.match(other.data, /^verdict {6}another pack\n/)
  assert.equal(other.words, `✖ DIR/other.pmtiles is ${addressOf(OTHER)}, not ${B3}.\n`)
})

test('how far it is goes to standard error, as JSON for whoever asks', async () => {
  const { data, words } = await cairn('pack', 'verify', path('world.pmtiles'), '--progress', 'json', '--json')
  assert.equal(data.split('\n').length, 2)
  assert.deepEqual(JSON.parse(words.split('\n')[0]!), {
    event: 'progress',
    bytes: WORLD.length,
    total_bytes: WORLD.length,
  })
})

test('a pack that is added is served at once, and after a restart; its address is all that standard output says', async () => {
  await startNode()
  const { code, data, words } = await cairn('pack', 'add', 'world', path('world.pmtiles'), '--b3', B3)
  assert.equal(code, 0, words)
  assert.equal(data, `${B3}\n`)
  assert.match(
    words,
    /^✔ world is served, now and after restarts: png 0-1 \d+ B\n {2}http\S+\/edge\/assets\/p\/world\/tiles\.json\n/,
  )
  await node?.stop()
  await startNode()
  const tile = await fetch(`${edge}/edge/assets/p/world/0/0/0`)
  assert.deepEqual([tile.status, await tile.text()], [200, 'tile 0'])
  await writeFile(path('cairn.toml'), `[[edge.packs]]\nname = "fixed"\npath = "${path('other.pmtiles')}"\n`)
  assert.equal((await cairn('config', 'reload')).code, 0)
  const listed = await whenOpened()
  assert.equal(
    listed.data,
    [
      `fixed  mounted  config  ${addressOf(OTHER)}  png 0-0 ${OTHER.length} B  DIR/other.pmtiles`,
      `world  mounted  added  ${B3}  png 0-1 ${WORLD.length} B  DIR/world.pmtiles`,
      '',
    ].join('\n'),
  )
})

test('a pack that cannot be served changes nothing, and a name of the configuration is not for the taking', async () => {
  assert.match(
    await refused(4, 'unusable_pack', 'pack', 'add', 'world', path('cut.pmtiles')),
    /cut\.pmtiles cannot be served: /,
  )
  await refused(4, 'unusable_pack', 'pack', 'add', 'new', path('world.pmtiles'), '--b3', addressOf(OTHER))
  await refused(3, 'no_file', 'pack', 'add', 'new', path('none.pmtiles'))
  const { words } = await cairn('pack', 'add', 'new', path('none.pmtiles'))
  assert.match(words, /^✖ There is no \S+none\.pmtiles\.\n {2}Next: {2}npx cairn pack add --help\n$/)
  await refused(8, 'pack_configured', 'pack', 'add', 'fixed', path('world.pmtiles'))
  await refused(8, 'pack_configured', 'pack', 'rm', 'fixed')
  assert.equal((await fetch(`${edge}/edge/assets/p/world/0/0/0`)).status, 200)
  const { packs } = (JSON.parse((await cairn('pack', 'ls', '--json')).data) as { result: { packs: unknown[] } }).result
  assert.equal(packs.length, 2)
})

test('a pack that is removed is served no more; its file stays', async () => {
  const { code, data, words } = await cairn('pack', 'rm', 'world')
  assert.deepEqual([code, data], [0, ''])
  assert.equal(words, '✔ world is not served any more; its file stays where it is\n')
  assert.equal((await fetch(`${edge}/edge/assets/p/world/0/0/0`)).status, 404)
  await refused(3, 'not_found', 'pack', 'rm', 'world')
  assert.equal((await cairn('pack', 'verify', path('world.pmtiles'))).code, 0)
})
