import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { renderProblems } from './problem.ts'
import { type ConfigSchemas, section, setting } from './setting.ts'
import type { ConfigFlag } from './sources.ts'
import { type Loaded, loadConfig } from './store.ts'
import { MemoryFiles } from './test/memory-files.ts'
import { SAMPLE } from './test/sample-schemas.ts'

interface Given {
  readonly toml?: string
  readonly environment?: Record<string, string>
  readonly flags?: readonly ConfigFlag[]
  readonly files?: Record<string, string>
}

async function load<S extends ConfigSchemas>(schemas: S, given: Given): Promise<Loaded<S>> {
  const disk = new MemoryFiles()
  for (const [path, text] of Object.entries(given.files ?? {})) disk.texts.set(path, text)
  if (given.toml !== undefined) disk.texts.set('cairn.toml', given.toml)
  const loaded = await loadConfig(schemas, {
    file: { path: 'cairn.toml', required: false },
    environment: given.environment ?? {},
    flags: given.flags ?? [],
    disk,
  })
  assert.equal(disk.openCount, 0, 'a file was left open')
  return loaded
}

async function accepted(given: Given): Promise<Loaded<typeof SAMPLE> & { tag: 'loaded' }> {
  const loaded = await load(SAMPLE, given)
  assert.equal(loaded.tag, 'loaded', loaded.tag === 'refused' ? renderProblems(loaded.problems) : '')
  return loaded
}

async function refused(given: Given): Promise<string[]> {
  const loaded = await load(SAMPLE, given)
  assert.equal(loaded.tag, 'refused')
  return renderProblems(loaded.problems).split('\n')
}

test('nothing given means the defaults, and says so', async () => {
  const { values, origins } = await accepted({})
  assert.deepEqual(values.storage.ingress, { max_body_bytes: 1_048_576, max_rps: 0 })
  assert.equal(values.storage.drain_deadline, 3000)
  assert.equal(values.storage.token, undefined)
  assert.deepEqual(new Set(Object.values(origins)), new Set(['default']))
  assert.equal(Object.keys(origins).length, 12)
})

test('flags win over the environment, the environment over the file, the file over the defaults', async () => {
  const toml =
    '[storage]\nbind_addr = "file:1"\ndata_dir = "file"\n[storage.ingress]\nmax_rps = 1\n  max_body_bytes = "2KiB"\n'
  const environment = { CAIRN__STORAGE__BIND_ADDR: 'env:1', CAIRN__STORAGE__INGRESS__MAX_RPS: '2', PATH: '/bin' }
  const flags = [{ flag: '--bind', key: 'storage.bind_addr', value: 'flag:1' }]
  const { values, origins } = await accepted({ toml, environment, flags })
  assert.equal(values.storage.bind_addr, 'flag:1')
  assert.equal(values.storage.ingress.max_rps, 2)
  assert.equal(values.storage.data_dir, 'file')
  assert.equal(values.edge.mode, 'offline')
  assert.equal(origins['storage.bind_addr'], 'flag --bind')
  assert.equal(origins['storage.ingress.max_rps'], 'env CAIRN__STORAGE__INGRESS__MAX_RPS')
  assert.equal(origins['storage.data_dir'], 'cairn.toml:3:1')
  assert.equal(origins['storage.ingress.max_body_bytes'], 'cairn.toml:6:3')
  assert.equal(origins['edge.mode'], 'default')
})

test('text from the environment becomes what the key takes', async () => {
  const environment = {
    CAIRN__STORAGE__INGRESS__MAX_BODY_BYTES: '64KiB',
    CAIRN__STORAGE__DRAIN_DEADLINE: '1500ms',
    CAIRN__EDGE__HSTS: 'false',
    CAIRN__EDGE__ALLOW: 'a.example, b.example:8443',
    CAIRN__EDGE__ROUTES: '{ osm = "https://tiles.example/" }',
  }
  const { values } = await accepted({ environment })
  assert.equal(values.storage.ingress.max_body_bytes, 65_536)
  assert.equal(values.storage.drain_deadline, 1500)
  assert.equal(values.edge.hsts, false)
  assert.deepEqual(values.edge.allow, ['a.example', 'b.example:8443'])
  assert.deepEqual(values.edge.routes, { osm: 'https://tiles.example/' })
  assert.deepEqual((await accepted({ environment: { CAIRN__EDGE__ALLOW: '["c.example"]' } })).values.edge.allow, [
    'c.example',
  ])
  assert.deepEqual((await accepted({ environment: { CAIRN__EDGE__ALLOW: '' } })).values.edge.allow, [])
})

test('sizes and durations are taken as numbers and as text', async () => {
  const { values } = await accepted({
    toml: '[storage]\ndrain_deadline = 2000\n[storage.ingress]\nmax_body_bytes = 4096',
  })
  assert.equal(values.storage.drain_deadline, 2000)
  assert.equal(values.storage.ingress.max_body_bytes, 4096)
})

test('a secret may come from a file named in the environment', async () => {
  const { values, origins } = await accepted({
    environment: { CAIRN__STORAGE__TOKEN_FILE: '/run/token' },
    files: { '/run/token': 'a long secret\n' },
  })
  assert.equal(values.storage.token, 'a long secret')
  assert.equal(origins['storage.token'], 'env CAIRN__STORAGE__TOKEN_FILE')
})

test('a secret set twice, a secret file that is missing, and _FILE for what is no secret are refused', async () => {
  const both = { CAIRN__STORAGE__TOKEN_FILE: '/run/token', CAIRN__STORAGE__TOKEN: 'direct secret' }
  assert.deepEqual(await refused({ environment: both, files: { '/run/token': 'x' } }), [
    'env CAIRN__STORAGE__TOKEN_FILE: CAIRN__STORAGE__TOKEN_FILE and CAIRN__STORAGE__TOKEN are both set; keep one of them.',
  ])
  assert.deepEqual(await refused({ environment: { CAIRN__STORAGE__TOKEN_FILE: '/run/none' } }), [
    'env CAIRN__STORAGE__TOKEN_FILE: There is no file /run/none.',
  ])
  assert.match((await refused({ environment: { CAIRN__EDGE__MODE_FILE: '/x' } }))[0]!, /names no known key/)
})

test('every problem is reported at once, each where it is written, with what to do', async () => {
  const toml = [
    '[storage]',
    'drain_deadline = "9s"',
    '[storage.ingres]',
    'max_rps = 1',
    '[storage.ingress]',
    '  max_body_byte = "1MiB"',
    '  max_rps = "many"',
    '[edge]',
    'mode = "lve"',
    '[[edge.packs]]',
    'nam = "x"',
    'path = "y"',
    '[edge.routes]',
    'osm = { ur = "https://a.example/" }',
    'bad = 5',
    '[stroage]',
  ].join('\n')
  assert.deepEqual((await refused({ toml })).sort(), [
    'cairn.toml:10:8: edge.packs.0.name must be a string; got nothing.',
    'cairn.toml:11:1: edge.packs.0.nam is not a known key; did you mean edge.packs.0.name?',
    'cairn.toml:14:7: edge.routes.osm.url must be a string; got nothing.',
    'cairn.toml:14:9: edge.routes.osm.ur is not a known key; did you mean edge.routes.osm.url?',
    'cairn.toml:15:7: edge.routes.bad must be a string or a table; got 5.',
    'cairn.toml:16:2: stroage is not a known key; did you mean storage?',
    'cairn.toml:2:18: storage.drain_deadline must be between 1s and 5s; got "9s".',
    'cairn.toml:3:10: storage.ingres is not a known key; did you mean storage.ingress?',
    'cairn.toml:6:3: storage.ingress.max_body_byte is not a known key; did you mean storage.ingress.max_body_bytes?',
    'cairn.toml:7:13: storage.ingress.max_rps must be a number; got "many".',
    'cairn.toml:9:8: edge.mode must be one of "offline", "live"; got "lve".',
  ])
})

test('problems in the environment and on the command line name the variable and the flag', async () => {
  const environment = { CAIRN__STORAGE__INGRES__MAX_RPS: '1', CAIRN__STORAGE__INGRESS__MAX_RPS: '-1', CAIRN__QQ: '1' }
  const flags = [{ flag: '--drain', key: 'storage.drain_deadline', value: 'soon' }]
  assert.deepEqual((await refused({ environment, flags })).sort(), [
    'env CAIRN__QQ: CAIRN__QQ names no known key; unset it.',
    'env CAIRN__STORAGE__INGRESS__MAX_RPS: storage.ingress.max_rps must be at least 0; got -1.',
    'env CAIRN__STORAGE__INGRES__MAX_RPS: CAIRN__STORAGE__INGRES__MAX_RPS names no known key; did you mean CAIRN__STORAGE__INGRESS__MAX_RPS?',
    'flag --drain: storage.drain_deadline must be a duration such as "3s" or "1500ms"; got "soon".',
  ])
})

test('a bad secret is refused without being shown', async () => {
  const [line = ''] = await refused({ environment: { CAIRN__STORAGE__TOKEN: 'hunter2' } })
  assert.equal(line, 'env CAIRN__STORAGE__TOKEN: storage.token must have at least 8 characters.')
})

test('text that is not TOML is refused at its line and column', async () => {
  const lines = await refused({ toml: '[storage]\nbind_addr = oops\n' })
  assert.equal(lines.length, 1)
  assert.match(lines[0]!, /^cairn\.toml:2:13: This is not TOML: \S.*\.$/)
})

test('what the parser takes for a date and is none is refused where it stands', async () => {
  for (const gap of [' ', '\t', '\r']) {
    const toml = `[storage]\ndata_dir = "a"\ndrain_deadline = 1979-${gap}5-27`
    assert.deepEqual(await refused({ toml }), ['cairn.toml:3:24: This is not TOML: a key and = were expected here.'])
  }
})

test('a section written as a value is refused, not overwritten', async () => {
  const lines = await refused({ toml: 'storage = 5\n', environment: { CAIRN__STORAGE__BIND_ADDR: 'x' } })
  assert.deepEqual(lines, ['cairn.toml:1:11: storage must be a table; got 5.'])
})

test('a file that was asked for must exist; one that was not may be absent', async () => {
  const sources = { environment: {}, flags: [], disk: new MemoryFiles() }
  const absent = await loadConfig(SAMPLE, { ...sources, file: { path: 'my.toml', required: true } })
  assert.deepEqual(absent.tag === 'refused' ? absent.problems : [], [
    { reason: 'unreadable', place: 'my.toml', key: '', detail: 'There is no file my.toml.' },
  ])
  assert.equal((await loadConfig(SAMPLE, { ...sources, file: { path: 'my.toml', required: false } })).tag, 'loaded')
  assert.equal((await loadConfig(SAMPLE, sources)).tag, 'loaded')
})

test('a file that is too large or not text is refused', async () => {
  const disk = new MemoryFiles()
  disk.texts.set('large.toml', new Uint8Array(1024 * 1024 + 1))
  disk.texts.set('bytes.toml', Uint8Array.of(0xff, 0xfe))
  for (const [path, detail] of [
    ['large.toml', /1048577 bytes/],
    ['bytes.toml', /not UTF-8/],
  ] as const) {
    const loaded = await loadConfig(SAMPLE, { file: { path, required: true }, environment: {}, flags: [], disk })
    assert.match(loaded.tag === 'refused' ? renderProblems(loaded.problems) : '', detail)
  }
})

test('what was loaded cannot be changed', async () => {
  const { values } = await accepted({})
  assert.throws(() => Object.assign(values.storage.ingress, { max_rps: 7 }), TypeError)
  assert.throws(() => values.edge.allow.push('x'), TypeError)
})

test('a key declared without facts is found before anything is read', async () => {
  const schemas = { storage: section({ loose: z.string() }) }
  await assert.rejects(load(schemas, {}), /storage\.loose is declared without/)
})

test('a flag for a key nobody declared is a defect', async () => {
  await assert.rejects(load(SAMPLE, { flags: [{ flag: '--x', key: 'no.such', value: '1' }] }), /--x sets no\.such/)
})

test('whatever rule a value breaks, the sentence can be read', async () => {
  const live = { reload: 'live', does: 'Any.' } as const
  const schemas = {
    edge: section({
      host: setting(z.string().regex(/^[a-z]+$/), live),
      site: setting(z.url(), live),
      even: setting(z.int().multipleOf(2), live),
      most: setting(z.array(z.string()).max(1), live),
      odd: setting(
        z.custom((value) => value === 1),
        live,
      ),
      names: setting(z.record(z.string().min(3), z.string()), live),
      only: setting(z.literal('this'), live),
    }),
  }
  const toml =
    '[edge]\nhost = "A"\nsite = "no"\neven = 3\nmost = ["a", "b"]\nodd = 2\nnames = { a = "b" }\nonly = "that"'
  const loaded = await load(schemas, { toml })
  assert.deepEqual(loaded.tag === 'refused' ? renderProblems(loaded.problems).split('\n') : [], [
    'cairn.toml:2:8: edge.host must match /^[a-z]+$/; got "A".',
    'cairn.toml:3:8: edge.site must be a valid url; got "no".',
    'cairn.toml:4:8: edge.even must be a multiple of 2; got 3.',
    'cairn.toml:5:8: edge.most must have at most 1 entries; got ["a","b"].',
    'cairn.toml:6:7: edge.odd is not valid; got 2.',
    'cairn.toml:7:11: edge.names.a is not a valid name.',
    'cairn.toml:8:8: edge.only must be "this"; got "that".',
  ])
})

test('a rule between keys is reported at the section', async () => {
  const bounds = z
    .strictObject({ low: setting(z.int(), { reload: 'live', default: 1, does: 'Low.' }) })
    .refine(({ low }) => low < 5, { message: 'must have low below 5' })
    .prefault({})
  const loaded = await load({ edge: section({ bounds }) }, { toml: '[edge.bounds]\nlow = 9' })
  const lines = loaded.tag === 'refused' ? renderProblems(loaded.problems) : ''
  assert.equal(lines, 'cairn.toml:1:7: edge.bounds must have low below 5; got {"low":9}.')
})
