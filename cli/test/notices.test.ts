/** What harms nothing that a node serves, and an operator should know: the doctor says it, and is content all the same. */
import assert from 'node:assert/strict'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { main } from '../src/main.ts'
import { Capture } from './capture.ts'
import { InnerNode } from './inner-node.ts'
import { type Ran, Workplace } from './processes.ts'

let place: Workplace
const path = (name: string): string => `${place.directory}/${name}`

before(async () => {
  place = await Workplace.make()
  await configure([])
})
after(async () => {
  await place[Symbol.asyncDispose]()
})

/** The doctor tries the ports of all services; a node that runs beside the tests may have the default ones. */
const FREE_PORTS = ['registry', 'index', 'edge', 'interop'].flatMap((service) => [
  `[${service}]`,
  'bind_addr = "127.0.0.1:0"',
])

async function configure(lines: readonly string[]): Promise<void> {
  await writeFile(path('cairn.toml'), ['[storage]', 'segment_bytes = "2MiB"', ...lines, ...FREE_PORTS, ''].join('\n'))
}

async function cairn(...args: readonly string[]): Promise<Ran> {
  const terminal = new Capture()
  const code = await main([...args, '--data', path('data')], terminal)
  return { code, data: terminal.data, words: terminal.words }
}

async function start(): Promise<InnerNode> {
  return await InnerNode.start({ data: path('data'), config: path('cairn.toml'), services: 'storage' })
}

async function damage(file: string): Promise<void> {
  const bytes = await readFile(file)
  bytes[20] = (bytes[20] ?? 0) ^ 1
  await writeFile(file, bytes)
}

test('the doctor says why garbage stays, and that segments were scanned for damaged side files', async () => {
  const journal = path('data/storage/journal')
  const large = new Uint8Array(5 * 1024 * 1024)
  // Chunks that are all different.
  for (let at = 0; at < large.length; at += 4) new DataView(large.buffer).setUint32(at, at * 2_654_435_761)
  await writeFile(path('large'), large)
  await writeFile(path('small'), 'to be dropped')
  const first = await start()
  assert.equal((await cairn('put', path('large'))).code, 0)
  assert.doesNotMatch((await cairn('doctor', '--config', path('cairn.toml'))).data, /garbage|index:/)
  await first.stop()
  const sides = (await readdir(journal)).filter((name) => name.endsWith('.idx')).sort()
  assert.ok(sides.length >= 2, sides.join())
  const [damaged = '', unreadable = ''] = sides
  await damage(`${journal}/${damaged}`)
  await damage(`${journal}/${unreadable.replace('.idx', '.seg')}`)
  // Not before: on a busy machine a large put may take longer than so short a lease.
  await configure(['upload_lease = "1s"', 'durability.sweep_interval = "1s"'])
  const again = await start()
  try {
    const put = await cairn('put', '-q', path('small'))
    assert.equal((await cairn('rm', put.data.trim())).code, 0)
    const says = async (): Promise<string> => (await cairn('status')).data
    while (!(await says()).includes('no garbage is collected'));
    const doctor = await cairn('doctor', '--config', path('cairn.toml'))
    assert.equal(doctor.code, 0, doctor.data)
    assert.match(doctor.data, /^… node +storage: No garbage is collected: Segment 2 cannot be read\./m)
    assert.match(doctor.data, /storage: index: \d+ of \d+ segments were scanned because their side file was damaged$/m)
    assert.match(doctor.data, /→ npx cairn scrub .*--wait/)
  } finally {
    await again[Symbol.asyncDispose]()
  }
})
