/** What is kept beside the records is damaged or gone: the records decide, and what is amiss is reported. */
import assert from 'node:assert/strict'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { bytesOf } from '../bytes.ts'
import { acceptance } from '../case.ts'
import type { RunningNode } from '../node.ts'
import { changed, flipped, RECORD_HEADER_BYTES, recordsIn, segmentsIn } from '../segments.ts'

const LIMITS = { limitMs: 180_000 } as const
/** Some segments are full, so that there is an index of them on the drive; what is deleted is soon compacted. */
const CONFIG = `[storage]
segment_bytes = "2MiB"
reserve_bytes = "1MiB"
cache_bytes = 0
upload_lease = "200ms"
[storage.durability]
sweep_interval = "300ms"
`
const OBJECTS = 240
const OBJECT_BYTES = 30_000
const AT_ONCE = 8

/** Stores so many objects; their addresses, in the order of the journal. */
async function fill(node: RunningNode): Promise<readonly string[]> {
  const addresses: string[] = []
  for (let at = 0; at < OBJECTS; at += AT_ONCE)
    addresses.push(
      ...(await Promise.all(
        Array.from({ length: AT_ONCE }, async (_, number) => await node.put(bytesOf(OBJECT_BYTES, at + number))),
      )),
    )
  return addresses
}

function digestOf(address: string): Buffer {
  return Buffer.from(address.slice('b3:'.length), 'hex')
}

/** The files that only say where records lie. */
async function indexFiles(node: RunningNode): Promise<readonly string[]> {
  const storage = join(node.data, 'storage')
  const names = await readdir(storage, { recursive: true })
  return names.filter((name) => /\.(?:idx|mdb)$/.test(name) && !name.endsWith('lock.mdb')).map((n) => join(storage, n))
}

async function removeIndex(node: RunningNode): Promise<void> {
  await rm(join(node.data, 'storage/index'), { recursive: true, force: true })
  for (const file of await indexFiles(node)) await rm(file)
}

/** How each of them is answered; a process that has died answers none. */
async function statusesOf(node: RunningNode, addresses: readonly string[]): Promise<readonly string[]> {
  const statuses = new Set<string>()
  for (const address of addresses) {
    const { status, body } = await node.request('storage', `/o/${address}`)
    statuses.add(status === 200 && body.length === OBJECT_BYTES ? '200' : `${status} ${body.toString()}`)
  }
  return [...statuses]
}

acceptance(
  'damage: a compaction beside a damaged index takes nothing that was acknowledged',
  { finding: 'attack R1', ...LIMITS },
  async (world) => {
    const node = await world.startNode({ config: CONFIG })
    const addresses = await fill(node)
    const kept = addresses.filter((_, at) => at % 6 === 0)
    await node.stop()
    let flips = 0
    for (const file of await indexFiles(node))
      await changed(file, (bytes) => {
        for (const address of kept.slice(0, 10)) {
          const digest = digestOf(address)
          for (let at = bytes.indexOf(digest); at >= 0; at = bytes.indexOf(digest, at + 1)) {
            // Of an entry: which record it stands for.
            flipped(bytes, at + digest.length + 8)
            flips += 1
          }
        }
        return bytes
      })
    assert.ok(flips >= 10, `${flips} entries`)
    await node.relaunch()
    await node.ready()
    const deletes = new Set<number>()
    for (const address of addresses.filter((_, at) => at % 6 !== 0))
      deletes.add((await node.request('storage', `/o/${address}`, { method: 'DELETE', admin: true })).status)
    await world.eventually(async () => ((await node.metric('storage', 'compacted_bytes_total')) > 0 ? true : undefined))
    await node.stop()
    await removeIndex(node)
    await node.relaunch()
    await node.ready()
    assert.deepEqual(await statusesOf(node, kept), ['200'])
    assert.deepEqual([...deletes], [204])
  },
)

const DAMAGES: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  'cut to half': (bytes) => bytes.subarray(0, bytes.length >> 1),
  'zeroed at its head': (bytes) => Buffer.concat([Buffer.alloc(8192), bytes.subarray(8192)]).subarray(0, bytes.length),
  'full of flipped bits': (bytes) => {
    // Past the first two pages, where there are more.
    const from = bytes.length > 16_384 ? 8192 : 0
    for (let bit = 0; bit < 400; bit += 1) flipped(bytes, from + ((bit * 7919 * 131) % (bytes.length - from)))
    return bytes
  },
}

for (const [what, harm] of Object.entries(DAMAGES))
  acceptance(
    `damage: with an index that is ${what} all is served, and it is reported`,
    { finding: 'attack R2', ...LIMITS },
    async (world) => {
      const node = await world.startNode({ config: CONFIG })
      const addresses = await fill(node)
      await node.stop()
      for (const file of await indexFiles(node)) await changed(file, harm)
      await node.relaunch()
      await node.ready()
      assert.deepEqual(await statusesOf(node, addresses), ['200'])
      assert.ok((await node.metric('storage', 'index_segments_total', 'how="scan_damaged"')) > 0)
      const scrub = await node.cairn('scrub', '--wait')
      assert.equal(scrub.code, 0, scrub.err)
      // What was read instead is made anew, and the next start needs no segment.
      await node.restart()
      const learnt = async (how: string): Promise<number> =>
        await node.metric('storage', 'index_segments_total', `how="${how}"`)
      assert.deepEqual([await learnt('scan_damaged'), await learnt('scan_missing')], [0, 0])
      assert.ok((await learnt('side_file')) > 0)
      assert.deepEqual(await node.stop(), { code: 0, signal: null })
    },
  )

/** Of the last record, that much is not as it was written. */
async function spoilEnd(node: RunningNode): Promise<void> {
  const last = (await segmentsIn(join(node.data, 'storage/journal'))).at(-1) ?? assert.fail('no segment')
  await changed(last, (bytes) => flipped(bytes, (recordsIn(bytes).at(-1)?.at ?? 0) + RECORD_HEADER_BYTES))
}

acceptance(
  'damage: an acknowledged end of the journal that went bad is corruption, whatever else is gone',
  { finding: 'attack R2', ...LIMITS },
  async (world) => {
    const node = await world.startNode()
    for (const text of ['first', 'second']) await node.put(text)
    const last = await node.put('the last')
    await node.stop()
    await removeIndex(node)
    await spoilEnd(node)
    await node.relaunch()
    await node.ready()
    const { status, body } = await node.request('storage', `/o/${last}`)
    assert.notEqual(status, 404, body.toString())
    assert.notEqual(status, 200)
    assert.notEqual((await node.cairn('scrub', '--wait')).code, 0)
  },
)

acceptance(
  'damage: without the note of what was synced, a cut end is reported by its records',
  { finding: 'attack R2', ...LIMITS },
  async (world) => {
    const node = await world.startNode()
    for (const text of ['first', 'second', 'the last']) await node.put(text)
    await node.stop()
    await removeIndex(node)
    for (const name of await readdir(join(node.data, 'storage/journal')))
      if (name.startsWith('synced.')) await rm(join(node.data, 'storage/journal', name))
    await spoilEnd(node)
    await node.relaunch()
    await node.ready()
    const said = node.outputSinceStart().split('\n')
    const cut = said.find((line) => line.includes('may include acknowledged records')) ?? ''
    assert.match(cut, /"records":1\b/, node.outputSinceStart())
    assert.match(cut, /"firstLsn":\d+/)
    assert.equal((await node.request('storage', `/o/${await node.put('the last')}`)).status, 200)
  },
)
