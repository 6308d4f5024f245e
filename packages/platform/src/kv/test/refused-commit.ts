/** Run under a limit on file size: commits until the disk refuses, and prints what is left to see. */
import { setTimeout } from 'node:timers/promises'
import { MemoryLog, MemoryMetrics, systemRuntime, toCairnError } from '@cairn/kernel'
import { LmdbKvOpener } from '../lmdb-kv.ts'

const UNHANDLED_MS = 50
const path = process.argv[2] ?? ''
const opener = new LmdbKvOpener(systemRuntime(new MemoryLog(), new MemoryMetrics()))
const key = (number: number): Uint8Array => Uint8Array.of(number)
const codes: string[] = []
const note = async (work: () => unknown): Promise<void> => {
  try {
    await work()
  } catch (error) {
    const { code, cause } = toCairnError(error)
    codes.push(`${code}: ${cause instanceof Error ? cause.message : 'no cause'}`)
  }
}

const kv = await opener.open(path, { mapBytes: 64 * 1024 * 1024 })
await kv.commit([{ tag: 'put', key: key(1), value: Buffer.from('small') }])
const large = new Uint8Array(4 * 1024 * 1024)
await Promise.all([
  note(async () => await kv.commit([{ tag: 'put', key: key(2), value: large }])),
  note(async () => await kv.commit([{ tag: 'put', key: key(3), value: Buffer.from('small') }])),
])
await note(() => kv.get(key(1)))
await note(async () => await kv.commit([]))
await kv.close()
await using again = await opener.open(path, { mapBytes: 64 * 1024 * 1024 })
const seen = [...again.range({})].map((entry) => entry.key[0])
process.stdout.write(`${codes.join('\n')}\nafter reopening: ${seen.join()}\n`)
// One that shares its transaction with nobody; what is rejected and not taken up by now ends the process.
await note(async () => await again.commit([{ tag: 'put', key: key(4), value: large }]))
await setTimeout(UNHANDLED_MS)
process.stdout.write(`and again ${codes.at(-1)}\n`)
