import assert from 'node:assert/strict'
import { open, readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { freePorts } from '@cairn/platform/testing'
import { addressOf, digestOf } from '@cairn/wire'
import { Home } from '../../../node/test/running-node.ts'
import { noise } from '../../virtual/noise.ts'
import { cluster, isWhole, until } from './cluster.ts'
import { putAll, readAll } from './objects.ts'

/** From the id of a record to its payload. */
const PAYLOAD_OFFSET = 40

/** Flips a bit of each of these chunks in the node's journal. */
async function rot(journal: string, chunks: readonly Buffer[]): Promise<number> {
  const bytes = await readFile(journal)
  const file = await open(journal, 'r+')
  let flipped = 0
  for (const chunk of chunks) {
    const at = bytes.indexOf(Buffer.from(digestOf(addressOf(chunk))))
    if (at < 0) continue
    const place = at + PAYLOAD_OFFSET + 11
    await file.write(Buffer.of((bytes[place] ?? 0) ^ 4), 0, 1, place)
    flipped += 1
  }
  await file.close()
  return flipped
}

test('a node whose copies have rotted is found out, reported, read around and repaired', async () => {
  await using home = await Home.make()
  const port = await freePorts(2)
  const more = () => ({ storage: ['cache_bytes = 0'] })
  const members = cluster(home, { a: `127.0.0.1:${port}`, b: `127.0.0.1:${port + 1}` }, more)
  for (const member of members) await member.start()
  for (const member of members) await until(`${member.name} is whole`, async () => await member.report(), isWhole)
  const [first, second] = members
  assert.ok(first !== undefined && second !== undefined)
  const objects = Array.from({ length: 6 }, (_, at) => noise(40_000 + at, at + 1))
  await putAll(first, objects)
  const journal = `${home.path}/b/storage/journal/0000000001.seg`
  assert.equal(await rot(journal, objects), objects.length)
  await readAll(members, objects)
  // A read may have been answered by the other node alone; a scrub leaves none out.
  await second.ask('POST', '/admin/scrub')
  await until(
    'every rotten copy is reported',
    async () => await second.metric('integrity_fail_total{reason="checksum"'),
    (counted) => counted >= objects.length,
  )
  await until(
    'b has repaired itself',
    async () => (await second.report()).repairs.pending,
    (pending) => pending === 0,
  )
  // What is read now was put in order again: nothing more is found, with the other node gone.
  await first.kill()
  const before = await second.metric('integrity_fail_total{reason="checksum"')
  await readAll([second], objects)
  assert.equal(await second.metric('integrity_fail_total{reason="checksum"'), before)
  await first.start()
  await until('everything is whole', async () => await second.report(), isWhole)
})
