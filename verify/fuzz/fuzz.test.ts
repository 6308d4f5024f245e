/** Every input that was ever kept or found is tried again; and the fuzzer finds what is planted for it. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { readInputs } from './corpus.ts'
import { Coverage } from './coverage.ts'
import { type FuzzTarget, failureOf, fuzz } from './fuzzer.ts'
import { bytesOf } from './inputs.ts'
import { readRecord, renderRecord } from './record.ts'
import { loadTargets, TARGET_NAMES } from './targets.ts'

const targets = await loadTargets(TARGET_NAMES)
after(async () => {
  for (const { close } of targets) await close?.()
})

test('every name has its target, and the other way round', () => {
  assert.deepEqual(targets.map(({ name }) => name).sort(), [...TARGET_NAMES].sort())
})

for (const target of targets) {
  test(`${target.name}: seeds, corpus and everything found before are read or refused`, async () => {
    const inputs = [...target.seeds, ...readInputs('corpus', target.name), ...readInputs('crashers', target.name)]
    assert.ok(inputs.length > 0)
    for (const input of inputs) assert.equal(await failureOf(target, input), undefined)
  })
}

test('a fault behind five bytes, one test after the other, is found by what has run', async () => {
  using coverage = new Coverage()
  const { readPlanted } = await import('./samples/planted.ts')
  const target = {
    name: 'planted',
    covers: ['verify/fuzz/samples/'],
    seeds: [bytesOf('hello')],
    words: [],
    bytesMax: 16,
    run: readPlanted,
  }
  const { finds, executions } = await fuzz(target, {
    coverage,
    seed: 7,
    corpus: [],
    isOver: (tried) => tried > 150_000,
  })
  // By chance alone it would take 256⁵ inputs.
  assert.match(finds[0]?.error.message ?? '', /^planted/)
  assert.ok(executions < 200_000)
})

test('a fault behind the only spelling of a value is found by changing what is spelled', async () => {
  using coverage = new Coverage()
  const { readSpelled } = await import('./samples/spelled.ts')
  const { JSON_SHAPE } = await import('./targets/shapes.ts')
  const target: FuzzTarget = {
    name: 'spelled',
    covers: ['verify/fuzz/samples/spelled.ts'],
    seeds: [bytesOf('{"list":[1,2,3],"name":"a"}')],
    words: [],
    bytesMax: 200,
    shape: JSON_SHAPE,
    run: readSpelled,
  }
  const { finds } = await fuzz(target, { coverage, seed: 7, corpus: [], isOver: (tried) => tried > 20_000 })
  assert.match(finds[0]?.error.message ?? '', /^planted/)
  const missed = coverage.missed().map(({ file, text }) => `${file} ${text}`)
  assert.deepEqual(missed, ["verify/fuzz/samples/spelled.ts throw new Error('no input is as long as this')"])
})

test('a refusal is no find, a defect is one', async () => {
  const { CairnError } = await import('@cairn/kernel')
  const refusing = { run: () => Promise.reject(new CairnError('Malformed', 'No.')) }
  assert.equal(await failureOf(refusing, new Uint8Array()), undefined)
  const defective = { run: () => Promise.reject(new CairnError('Internal', 'Ours.')) }
  assert.match((await failureOf(defective, new Uint8Array()))?.message ?? '', /Ours/)
})

test('an input that is slow is a find; one that was slow once is none', async () => {
  const busyFor = (ms: number): void => {
    const before = process.cpuUsage()
    const spentMs = (): number => {
      const { user, system } = process.cpuUsage(before)
      return (user + system) / 1000
    }
    while (spentMs() < ms);
  }
  let times = 0
  const once = (): void => {
    times += 1
    if (times === 1) busyFor(200)
  }
  assert.equal(await failureOf({ run: once }, new Uint8Array(), 20), undefined)
  assert.equal(times, 2)
  const always = { run: () => busyFor(200) }
  assert.match((await failureOf(always, new Uint8Array(), 20))?.message ?? '', /more than 20 ms/)
})

test('an input that never ends is named and kept, though it ends the campaign', async () => {
  const place = await mkdtemp(join(tmpdir(), 'cairn-fuzz-'))
  const crashers = join(place, 'crashers', 'round.txt')
  const program = `import { Watchdog } from ${JSON.stringify(import.meta.resolve('./watchdog.ts'))}
    const watchdog = new Watchdog(64, ${JSON.stringify(crashers)}, 200)
    for (const word of ['a longer one that ends', 'round']) watchdog.begin(Buffer.from(word))
    for (;;);`
  const { signal, told } = await new Promise<{ signal: string | undefined; told: string }>((resolve) => {
    execFile(
      process.execPath,
      ['--input-type=module', '-e', program],
      { timeout: 60_000 },
      (error, _stdout, stderr) => {
        resolve({ signal: error?.signal ?? undefined, told: stderr })
      },
    )
  })
  const line = Buffer.from('round').toString('base64')
  assert.equal(signal, 'SIGKILL')
  assert.match(told, new RegExp(`It does not end[^]*${line}`))
  assert.equal(await readFile(crashers, 'utf8'), `${line}\n`)
  await rm(place, { recursive: true })
})

test('the record adds up over campaigns', () => {
  const one = new Map([['token', { minutes: 6.25, executions: 10, reached: 3, total: 4, inputs: 2, found: 0 }]])
  assert.deepEqual(readRecord(renderRecord(one)), one)
})
