import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { ChunkBytes } from '@cairn/store'
import { type Address, addressFromDigest, addressOf } from '@cairn/wire'
import { noise } from '../../../../verify/virtual/noise.ts'
import { CHUNK_SIZE, ShardScene, type TestDrive } from '../../test/shard-drives.ts'
import { cutWhole } from '../objects/body-chunks.ts'
import type { ObjectSink } from '../objects/object-writer.ts'
import { decodeStripe } from './coding.ts'
import type { StripeDescriptor } from './stripe-core.ts'
import { gatherShards } from './stripe-reader.ts'

const CODE = { k: 6, m: 3 }
/** One stripe; several and a short last chunk; and one of zeros, whose shards are all the same. */
const OBJECTS = [noise(6 * CHUNK_SIZE, 1), noise(13 * CHUNK_SIZE + 777, 3), Buffer.alloc(7 * CHUNK_SIZE)]

function choices(size: number, count: number): number[][] {
  if (count === 0) return [[]]
  if (size < count) return []
  return [...choices(size - 1, count), ...choices(size - 1, count - 1).map((chosen) => [...chosen, size - 1])]
}

describe('nine drives, 6+3', () => {
  let scene: ShardScene
  before(async () => {
    scene = await ShardScene.open(9)
    for (const bytes of OBJECTS) {
      const { address, size, isNew } = await scene.put(bytes, CODE)
      assert.deepEqual([address, size, isNew], [addressOf(bytes), bytes.length, true])
    }
  })
  after(async () => await scene.close())

  test('all 84 ways to lose three drives leave every object readable', async () => {
    const ways = choices(9, 3)
    assert.equal(ways.length, 84)
    for (const lost of ways) {
      scene.lose(lost)
      for (const bytes of OBJECTS) {
        assert.ok((await scene.read(addressOf(bytes))).equals(bytes), `without ${lost.join(' ')}`)
      }
    }
  })

  test('a fourth loss is said to be one, and no byte comes out of it', async () => {
    for (const lost of choices(9, 4)) {
      scene.lose(lost)
      for (const bytes of OBJECTS.slice(0, 1)) {
        await assert.rejects(scene.read(addressOf(bytes)), { kind: 'Integrity', message: /it is lost unless a drive/ })
      }
    }
  })
})

test('no drive has the record of an object before every shard of it is durable', async () => {
  const scene = await ShardScene.open(9)
  const written = new Map<TestDrive, Address[]>()
  for (const drive of scene.drives) {
    const { write, commit } = drive
    const watched: Pick<TestDrive, 'write' | 'commit'> = {
      write: async (shards, upload) => {
        written.set(drive, [...(written.get(drive) ?? []), ...shards.map((shard) => addressOf(shard))])
        return await write(shards, upload)
      },
      commit: async (share) => {
        for (const [each, ids] of written) assert.ok(each.has(ids).every(Boolean), 'a shard may still be lost')
        return await commit(share)
      },
    }
    Object.assign(drive, watched)
  }
  await scene.put(noise(13 * CHUNK_SIZE, 5), CODE)
  assert.equal(written.size, 9)
  await scene.close()
})

describe('shards that are lost', () => {
  test('are made anew on drives that keep none of the stripe, in the same generation', async () => {
    const scene = await ShardScene.open(11)
    const [bytes] = [noise(13 * CHUNK_SIZE + 5, 4)]
    const { address } = await scene.put(bytes, CODE)
    const before = await scene.world.run(scene.shards.find(address))
    scene.lose([0, 1])
    const found = await scene.repairAll(address)
    assert.ok(found.every((urgency) => urgency !== 'lost') && found.some((urgency) => urgency === 'parity'))
    assert.deepEqual(await scene.repairAll(address), ['whole', 'whole', 'whole'])
    scene.lose([0, 1, 2, 3, 4])
    assert.ok((await scene.read(address)).equals(bytes), 'three more drives may go')
    const after = await scene.world.run(scene.shards.find(address))
    assert.equal(after?.generation, before?.generation)
    scene.lose([])
    assert.deepEqual(await scene.repairAll(address), ['whole', 'whole', 'whole'])
    await scene.close()
  })

  test('are urgent when no more may go, and stay lost where every drive keeps one of the stripe', async () => {
    const scene = await ShardScene.open(9)
    const bytes = noise(6 * CHUNK_SIZE, 5)
    const { address } = await scene.put(bytes, CODE)
    for (const [lost, urgency] of [
      [[8], 'parity'],
      [[6, 7, 8], 'urgent'],
      [[5, 6, 7, 8], 'lost'],
    ] as const) {
      scene.lose(lost)
      assert.deepEqual(await scene.repairAll(address), [urgency])
    }
    await scene.close()
  })

  test('a flipped byte in any shard is found by reading it, and healed where it lies', async () => {
    const scene = await ShardScene.open(9)
    const bytes = noise(8 * CHUNK_SIZE + 9, 6)
    const { address } = await scene.put(bytes, CODE)
    const map = await scene.world.run(scene.shards.find(address))
    assert.ok(map !== undefined)
    let flipped = 0
    for (let stripe = 0; stripe < map.stripeCount; stripe += 1) {
      const { shards }: StripeDescriptor = await scene.world.run(map.stripe(stripe))
      for (const id of shards) {
        if (id === undefined) continue
        for (const home of scene.drives) {
          if (!(await scene.flip(home, id))) continue
          flipped += 1
          await assert.rejects(scene.world.run(home.drive.contents.storage.chunks.inspect(id)), { kind: 'Integrity' })
          assert.ok((await scene.read(address)).equals(bytes), 'what is damaged is never handed out')
          const healed: number | undefined = await scene.world.run(
            scene.repair.heal(id, home, async () => await Promise.resolve()),
          )
          assert.ok((healed ?? 0) > 0)
          assert.equal(await scene.world.run(home.drive.contents.storage.chunks.inspect(id)), 'sound')
        }
      }
    }
    assert.equal(flipped, 9 + 3 + 3, 'every shard: six and three of the first stripe, three and three of the last')
    assert.equal((await scene.repairAll(address)).join(), 'whole,whole')
    await scene.close()
  })
})

test('the list of what a drive keeps is on no other drive: damaged, it is written anew out of what is there', async () => {
  const scene = await ShardScene.open(9)
  const bytes = noise(8 * CHUNK_SIZE, 15)
  const { address } = await scene.put(bytes, CODE)
  for (const home of scene.drives) {
    const facts = await scene.world.run(home.stat(address))
    const page = addressFromDigest(facts!.stripes!.sharePages)
    const { storage } = home.drive.contents
    assert.ok(await scene.flip(home, page))
    await assert.rejects(scene.world.run(storage.chunks.inspect(page)), { kind: 'Integrity' })
    await scene.world.run(scene.repair.heal(page, home, async () => await Promise.resolve()))
    const healed = await scene.world.run(home.stat(address))
    assert.equal(await scene.world.run(storage.objects.isShareSound(healed!)), true)
  }
  await scene.sweep()
  assert.deepEqual(await scene.repairAll(address), ['whole', 'whole'])
  assert.ok((await scene.read(address)).equals(bytes))
  await scene.close()
})

describe('a striped put', () => {
  test('waits for all nine drives: with one away it is refused and nothing is there', async () => {
    const scene = await ShardScene.open(9)
    const bytes = noise(6 * CHUNK_SIZE, 7)
    scene.lose([4])
    await assert.rejects(scene.put(bytes, CODE), { code: 'under_replicated' })
    scene.lose([])
    assert.equal(await scene.world.run(scene.shards.find(addressOf(bytes))), undefined)
    await scene.close()
  })

  test('of the same bytes again is no new object and keeps its generation', async () => {
    const scene = await ShardScene.open(9)
    const bytes = noise(9 * CHUNK_SIZE, 8)
    const { address } = await scene.put(bytes, CODE)
    const first = await scene.world.run(scene.shards.find(address))
    assert.equal((await scene.put(bytes, CODE)).isNew, false)
    assert.equal((await scene.world.run(scene.shards.find(address)))?.generation, first?.generation)
    await scene.close()
  })

  test('of less than one stripe goes to the writer of small objects, as it came', async () => {
    const scene = await ShardScene.open(9)
    const bytes = noise(6 * CHUNK_SIZE - 1, 9)
    const taken: Uint8Array[] = []
    const small: ObjectSink = {
      put: async ({ chunks }) => {
        for await (const chunk of chunks) taken.push(chunk.slice())
        return { address: addressOf(bytes), size: bytes.length, isNew: true, newChunks: 0 }
      },
    }
    const request = { chunks: cutWhole(bytes, CHUNK_SIZE), chunkSize: CHUNK_SIZE, type: 'text/plain', owners: [] }
    await scene.world.run(scene.writer(CODE, small).put({ ...request, expected: undefined, upload: 'u' }))
    assert.ok(Buffer.concat(taken).equals(bytes))
    await scene.close()
  })

  test('of other bytes than it says is a conflict', async () => {
    const scene = await ShardScene.open(9)
    const bytes = noise(6 * CHUNK_SIZE, 10)
    const request = { chunks: cutWhole(bytes, CHUNK_SIZE), chunkSize: CHUNK_SIZE, type: 'text/plain', owners: [] }
    const put = scene.writer(CODE).put({ ...request, expected: addressOf(Buffer.from('other')), upload: 'u' })
    await assert.rejects(scene.world.run(put), { kind: 'Conflict' })
    await scene.close()
  })
})

test('what is decoded is checked: shards that do not belong together give an error, never bytes', async () => {
  const scene = await ShardScene.open(9)
  const bytes = noise(6 * CHUNK_SIZE, 13)
  const { address } = await scene.put(bytes, CODE)
  const map = await scene.world.run(scene.shards.find(address))
  assert.ok(map !== undefined)
  const descriptor = await scene.world.run(map.stripe(0))
  const { present } = await scene.world.run(gatherShards(scene.shards, descriptor, [0]))
  const mixed = new Map(present).set(6, noise(CHUNK_SIZE, 14))
  await assert.rejects(scene.world.run(decodeStripe(scene.platform, descriptor, mixed, [0])), { kind: 'Integrity' })
  assert.equal((await scene.world.run(decodeStripe(scene.platform, descriptor, present, [0]))).size, 1)
  await scene.close()
})

test('two generations of an object rebuilt at the same time: neither is given a shard of the other', async () => {
  const scene = await ShardScene.open(9)
  const bytes = noise(12 * CHUNK_SIZE, 16)
  const { address } = await scene.put(bytes, { k: 4, m: 2 })
  const older = await scene.world.run(scene.shards.find(address))
  await scene.put(bytes, CODE)
  const newer = await scene.world.run(scene.shards.find(address))
  assert.ok(older !== undefined && newer !== undefined && older.generation < newer.generation)
  // In each the second shard of the second stripe, and damaged wherever it lies.
  const lost = [
    { map: older, chunk: 4 + 1 },
    { map: newer, chunk: 6 + 1 },
  ].map((each) => ({ ...each, own: bytes.subarray(each.chunk * CHUNK_SIZE, (each.chunk + 1) * CHUNK_SIZE) }))
  for (const { own } of lost) for (const home of scene.drives) await scene.flip(home, addressOf(own))
  const reads = lost.map(async ({ map, chunk, own }) => {
    using held = await scene.reader.read(map, chunk, addressOf(own))
    return own.equals(held.bytes)
  })
  assert.deepEqual(await scene.world.run(Promise.all(reads)), [true, true])
  await scene.close()
})

test('a data shard that is late is made out of the others instead, if the load allows it', async () => {
  const scene = await ShardScene.open(9)
  const bytes = noise(6 * CHUNK_SIZE, 11)
  const { address } = await scene.put(bytes, CODE)
  const map = await scene.world.run(scene.shards.find(address))
  assert.ok(map !== undefined)
  const [id] = (await scene.world.run(map.stripe(0))).shards
  assert.ok(id !== undefined)
  const keepers = await scene.world.run(
    Promise.all(scene.drives.map(async (drive) => await drive.keeps(address, [id]))),
  )
  const home = scene.drives.find((_, at) => keepers[at]?.[0])
  assert.ok(home !== undefined)
  home.readMs = 500
  for (const [mayHedge, waited] of [
    [true, 30],
    [false, 500],
  ] as const) {
    const reader = new scene.modules.StripeReader(scene.platform, scene.shards, {
      delayMs: () => 30,
      mayHedge: () => mayHedge,
    })
    const beganAt = scene.world.clock.now()
    using held: ChunkBytes = await scene.world.run(reader.read(map, 0, id))
    assert.ok(bytes.subarray(0, CHUNK_SIZE).equals(held.bytes))
    assert.equal(scene.world.clock.now() - beganAt, waited)
  }
  home.readMs = 0
  await scene.world.runUntilIdle()
  await scene.close()
})
