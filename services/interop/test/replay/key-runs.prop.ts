import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom, virtualRuntime } from '@cairn/kernel/testing'
import { MemoryDisk, makeDirectories, systemCrypto } from '@cairn/platform'
import { compareBytes } from '@cairn/wire'
import fc from 'fast-check'
import { HASH_BYTES, HOUR_MS, type KeyDrive, type KeyItem } from '../../src/replay/key-run.ts'
import { KeyRuns } from '../../src/replay/key-runs.ts'

const DIRECTORY = 'interop/replay'
const DISK_BYTES = 256 * 1024 * 1024

/** Many begin alike, so that blocks and filters are asked about neighbours. */
function hashOf(number: number): Uint8Array {
  const hash = new Uint8Array(HASH_BYTES)
  hash[0] = number % 3
  hash[5] = number % 7
  hash[16] = number >>> 8
  hash[17] = number
  return hash
}

async function opened(drive: KeyDrive, names: readonly string[]) {
  const { runs, damaged } = await KeyRuns.open(drive, DIRECTORY, { names, keepsOthers: false })
  assert.deepEqual(damaged, [])
  return runs
}

async function emptyDrive(): Promise<KeyDrive> {
  const disk = new MemoryDisk(virtualRuntime(), DISK_BYTES)
  await makeDirectories(disk, 'interop')
  return { disk, crypto: systemCrypto, random: new SeededRandom(1) }
}

const number = fc.integer({ min: 0, max: 2000 })
const command = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      tag: fc.constant('write' as const),
      first: number,
      count: fc.integer({ min: 1, max: 600 }),
      hour: fc.integer({ min: 1, max: 40 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ tag: fc.constant('merge' as const) }) },
  { weight: 1, arbitrary: fc.record({ tag: fc.constant('restart' as const) }) },
  { weight: 1, arbitrary: fc.record({ tag: fc.constant('pass' as const), hours: fc.integer({ min: 1, max: 12 }) }) },
)

test('whatever is written, merged and opened again, a key is known exactly until its last hour', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { maxLength: 25 }), async (commands) => {
      const drive = await emptyDrive()
      const known = new Map<number, number>()
      let [runs, names, nowMs] = [await opened(drive, []), [] as readonly string[], 0]
      for (const each of commands) {
        switch (each.tag) {
          case 'write': {
            const items: KeyItem[] = []
            for (let at = each.first; at < each.first + each.count; at += 1) {
              items.push({ hash: hashOf(at), hour: each.hour })
              known.set(at, Math.max(known.get(at) ?? 0, each.hour))
            }
            names = [...names, await runs.write(items.sort((a, b) => compareBytes(a.hash, b.hash)))]
            break
          }
          case 'merge': {
            const merged = await runs.merged(nowMs)
            if (merged !== undefined) names = [...names.filter((name) => !merged.from.includes(name)), ...merged.to]
            break
          }
          case 'restart':
            await runs.close()
            runs = await opened(drive, names)
            break
          case 'pass':
            nowMs += each.hours * HOUR_MS
        }
        runs.use(names)
        await runs.sweep()
      }
      for (let at = 0; at < 2700; at += 1) {
        const expected = (known.get(at) ?? 0) * HOUR_MS > nowMs
        assert.equal(await runs.has([hashOf(at)], nowMs), expected, `key ${at}`)
      }
      const files = (await drive.disk.list(DIRECTORY)).map(({ name }) => name)
      assert.deepEqual(files, [...names].sort(), 'nothing else is left on the drive')
      await runs.close()
    }),
    { numRuns: 25 },
  )
})

test('many small runs become few, and what is over takes no room', async () => {
  const drive = await emptyDrive()
  const runs = await opened(drive, [])
  let names: readonly string[] = []
  for (let at = 0; at < 40; at += 1) {
    names = [...names, await runs.write([{ hash: hashOf(at), hour: at + 1 }])]
    runs.use(names)
    const merged = await runs.merged(0)
    if (merged !== undefined) names = [...names.filter((name) => !merged.from.includes(name)), ...merged.to]
    runs.use(names)
    await runs.sweep()
    assert.ok(names.length <= 4, `${names.length} runs`)
  }
  assert.equal(runs.items, 40)
  for (;;) {
    const merged = await runs.merged(100 * HOUR_MS)
    if (merged === undefined) break
    names = [...names.filter((name) => !merged.from.includes(name)), ...merged.to]
    runs.use(names)
    await runs.sweep()
  }
  assert.deepEqual([runs.items, await drive.disk.list(DIRECTORY)], [0, []])
  await runs.close()
})

test('a run of which any byte changed is not believed where that byte counts', async () => {
  const drive = await emptyDrive()
  const items = Array.from({ length: 700 }, (_, at) => ({ hash: hashOf(at), hour: 5 }))
  items.sort((a, b) => compareBytes(a.hash, b.hash))
  const runs = await opened(drive, [])
  const name = await runs.write(items)
  await runs.close()
  const path = `${DIRECTORY}/${name}`
  const file = await drive.disk.open(path, { mode: 'read' })
  const whole = new Uint8Array(await file.size())
  await file.read(0, whole)
  await file.close()
  for (let at = 0; at < whole.length; at += 97) {
    const bytes = whole.slice()
    bytes[at] = (bytes[at] ?? 0) ^ 1
    await drive.disk.unlink(path)
    const changed = await drive.disk.open(path, { mode: 'create' })
    await changed.append([bytes])
    await changed.close()
    const again = await KeyRuns.open(drive, DIRECTORY, { names: [name], keepsOthers: false })
    again.runs.use([name])
    if (again.damaged.length === 0) assert.deepEqual(await again.runs.damaged(), [name], `byte ${at}`)
    await again.runs.close()
  }
})
