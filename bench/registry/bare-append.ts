/**
 * The least an entry of a log can cost that is durable before the next: append, fdatasync, again.
 *
 *     node bare-append.ts FILE ENTRY_BYTES ENTRIES → entries a second
 */
import { open, rm } from 'node:fs/promises'

const [path = ''] = process.argv.slice(2)
const [entryBytes = 0, entries = 0] = process.argv.slice(3).map(Number)
const entry = Buffer.alloc(entryBytes, 'entry ')
const file = await open(path, 'ax')
try {
  const startedAt = performance.now()
  for (let count = 0; count < entries; count += 1) {
    await file.write(entry)
    await file.datasync()
  }
  process.stdout.write(`${(entries * 1000) / (performance.now() - startedAt)}\n`)
} finally {
  await file.close()
  await rm(path)
}
