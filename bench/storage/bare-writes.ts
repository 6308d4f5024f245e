/**
 * The least a durable put can cost: the same bytes, as many objects in one writev as clients wait, one fdatasync for
 * all of them, one group after another.
 *
 *     node bare-writes.ts FILE GROUP OBJECT_BYTES OBJECTS → bytes a second
 */
import { open, rm } from 'node:fs/promises'
import { StampedBytes } from './stamped.ts'

const [path = ''] = process.argv.slice(2)
const [group = 0, objectBytes = 0, objects = 0] = process.argv.slice(3).map(Number)
const bodies = Array.from({ length: group }, () => new StampedBytes(objectBytes))
const file = await open(path, 'wx')
try {
  const startedAt = performance.now()
  for (let written = 0; written < objects; written += group) {
    await file.writev(bodies.map((body) => body.next()))
    await file.datasync()
  }
  process.stdout.write(`${(objects * objectBytes * 1000) / (performance.now() - startedAt)}\n`)
} finally {
  await file.close()
  await rm(path)
}
