/** 4 GiB in and out through the command line: the right bytes, and a node that does not grow with them. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createReadStream, readFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { SeededRandom, SystemClock } from '@cairn/kernel'
import { createBlake3, toHex } from '@cairn/wire'
import { firstLine, Workplace } from './processes.ts'

const MIB = 1024 * 1024
const SIZE = 4096 * MIB
const GROWTH_MAX = 64 * MIB
const SAMPLE_MS = 100
/** Longer than any process of the shorter tests may take. */
const WAIT_MS = 3_600_000

const clock = new SystemClock()
let place: Workplace
let pid = 0
before(async () => {
  place = await Workplace.make()
  const node = place.launch(['start', '--port-base', '0'], { waitMs: WAIT_MS })
  pid = (JSON.parse(await firstLine(node)) as { pid: number }).pid
  await writeNoise(`${place.directory}/in`)
})
after(async () => await place[Symbol.asyncDispose]())

/** Memory of the node that is not files, in bytes. */
function anonymousBytes(): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024
}

/** Bytes no two chunks of which are alike. */
async function writeNoise(path: string): Promise<void> {
  const block = Buffer.from(new SeededRandom(1).bytes(MIB))
  await using file = await open(path, 'w')
  for (let at = 0; at < SIZE; at += MIB) {
    for (let chunk = 0; chunk < MIB; chunk += 16 * 1024) block.writeDoubleBE(at + chunk, chunk)
    await file.write(block)
  }
}

async function hashOf(path: string): Promise<string> {
  const hash = createBlake3()
  for await (const piece of createReadStream(path, { highWaterMark: MIB })) hash.update(piece as Buffer)
  return `b3:${toHex(hash.digest())}`
}

/** Runs the command and watches the node meanwhile: what was said, for how long, and the most it held. */
async function watched(args: readonly string[]) {
  const startedAt = clock.now()
  let most = anonymousBytes()
  let timer = clock.timer(0, sample)
  function sample(): void {
    most = Math.max(most, anonymousBytes())
    timer = clock.timer(SAMPLE_MS, sample)
  }
  const child = place.launch(args, { waitMs: WAIT_MS })
  let data = ''
  let words = ''
  child.stdout!.on('data', (chunk: Buffer) => (data += chunk.toString()))
  child.stderr!.on('data', (chunk: Buffer) => (words += chunk.toString()))
  const [code] = (await once(child, 'close')) as [number | null]
  timer.cancel()
  return { code, data, words, most, seconds: (clock.now() - startedAt) / 1000 }
}

test('4 GiB go in and out with the right hash, and the node stays within 64 MiB of idle', async (t) => {
  const idle = anonymousBytes()
  const report = (what: string, { most, seconds }: { most: number; seconds: number }): void => {
    const rate = (SIZE / 1e6 / seconds).toFixed(0)
    t.diagnostic(`${what}: ${seconds.toFixed(0)} s, ${rate} MB/s, ${((most - idle) / MIB).toFixed(0)} MiB above idle`)
  }
  const put = await watched(['put', '-q', 'in'])
  assert.equal(put.code, 0, put.words)
  report('put', put)
  assert.equal(put.data.trim(), await hashOf(`${place.directory}/in`))
  const get = await watched(['get', put.data.trim(), '-o', 'out'])
  report('get', get)
  assert.equal(get.code, 0, get.words)
  assert.match(get.words, /every byte verified: 4\.3 GB/)
  assert.equal(await hashOf(`${place.directory}/out`), put.data.trim())
  t.diagnostic(`idle: ${(idle / MIB).toFixed(0)} MiB`)
  assert.ok(put.most - idle <= GROWTH_MAX, 'the node grew while it was put')
  assert.ok(get.most - idle <= GROWTH_MAX, 'the node grew while it was got')
})
