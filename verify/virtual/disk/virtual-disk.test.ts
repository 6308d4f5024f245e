import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type CairnError } from '@cairn/kernel'
import { SeededRandom } from '@cairn/kernel/testing'
import type { Disk, DiskFile } from '@cairn/platform'
import type { Fault, FaultyOperation } from '../faults.ts'
import type { VirtualMachine, VirtualPlatform } from '../machine.ts'
import { VirtualWorld } from '../world.ts'

async function onMachine(
  body: (platform: VirtualPlatform, machine: VirtualMachine) => Promise<void>,
  seed = 1,
): Promise<VirtualMachine> {
  const world = new VirtualWorld(seed)
  const machine = world.machine('node')
  const platform = machine.start()
  await world.run(body(platform, machine))
  await platform.workers.close()
  assert.deepEqual(world.leaks(), [])
  assert.equal(world.clock.pending(), 0)
  return machine
}

async function withFile(disk: Disk, body: (file: DiskFile) => Promise<void>): Promise<void> {
  await using file = await disk.open('file', { mode: 'append' })
  await disk.syncDirectory('.')
  await body(file)
}

async function content(disk: Disk): Promise<Buffer> {
  await using file = await disk.open('file', { mode: 'read' })
  const bytes = Buffer.alloc(await file.size())
  await file.read(0, bytes)
  return bytes
}

/** What is in the file after a crash, in each of many worlds. */
async function afterCrashes(
  body: (platform: VirtualPlatform, machine: VirtualMachine) => Promise<void>,
  worlds = 200,
): Promise<(Buffer | undefined)[]> {
  const found: (Buffer | undefined)[] = []
  for (let seed = 1; seed <= worlds; seed += 1) {
    const world = new VirtualWorld(seed)
    const machine = world.machine('node')
    const platform = machine.start()
    await world.run(body(platform, machine))
    machine.crash()
    const { disk } = machine.start()
    const names = await world.run(disk.list('.'))
    found.push(names.some(({ name }) => name === 'file') ? await world.run(content(disk)) : undefined)
  }
  return found
}

function spaced(text: string, length: number): Buffer {
  return Buffer.alloc(length, text)
}

describe('the virtual disk, when the power goes', () => {
  test('keeps what was synced, whatever else happens', async () => {
    const found = await afterCrashes(async ({ disk }) => {
      const file = await disk.open('file', { mode: 'create' })
      await file.append([Buffer.from('safe')])
      await file.sync()
      await disk.syncDirectory('.')
      await file.append([Buffer.from(', not safe')])
    }, 50)
    for (const bytes of found) assert.equal(bytes?.subarray(0, 4).toString(), 'safe')
  })

  test('keeps, loses, tears or zeroes a write that was not synced', async () => {
    const found = await afterCrashes(async ({ disk }) => {
      const file = await disk.open('file', { mode: 'create' })
      await disk.syncDirectory('.')
      await file.append([spaced('x', 2000)])
    })
    const lengths = new Set(found.map((bytes) => bytes?.length))
    assert.ok(lengths.has(0) && lengths.has(2000))
    const torn = [...lengths].filter((length) => length !== undefined && length > 0 && length < 2000)
    assert.ok(torn.length > 10)
    assert.ok(
      torn.some((length) => length === 512 || length === 1024 || length === 1536),
      'some at a sector',
    )
    assert.ok(found.some((bytes) => bytes?.length === 2000 && bytes.every((byte) => byte === 0)))
  })

  test('reorders writes: a later one may be there without an earlier one', async () => {
    const found = await afterCrashes(async ({ disk }) => {
      const file = await disk.open('file', { mode: 'create' })
      await disk.syncDirectory('.')
      await file.append([spaced('a', 10)])
      await file.append([spaced('b', 10)])
    })
    const hole = Buffer.concat([Buffer.alloc(10), spaced('b', 10)])
    assert.ok(found.some((bytes) => bytes?.equals(hole)))
  })

  test('loses a name whose directory was not synced, though the file was', async () => {
    const found = await afterCrashes(async ({ disk }) => {
      const file = await disk.open('file', { mode: 'create' })
      await file.append([Buffer.from('content')])
      await file.sync()
    }, 50)
    assert.ok(found.includes(undefined))
    assert.ok(found.some((bytes) => bytes?.toString() === 'content'))
  })

  test('undoes a rename, a cut and an unlink that were not synced, or does not', async () => {
    const renamed = await afterCrashes(async ({ disk }) => {
      await withFile(disk, async (file) => {
        await file.append([Buffer.from('old')])
        await file.sync()
      })
      const next = await disk.open('next', { mode: 'create' })
      await next.append([Buffer.from('new')])
      await next.sync()
      await disk.rename('next', 'file')
    }, 50)
    assert.deepEqual([...new Set(renamed.map(String))].sort(), ['new', 'old'])
    const cut = await afterCrashes(async ({ disk }) => {
      await withFile(disk, async (file) => {
        await file.append([Buffer.from('whole')])
        await file.sync()
        await file.truncate(1)
      })
    }, 50)
    assert.deepEqual([...new Set(cut.map(String))].sort(), ['w', 'whole'])
    const unlinked = await afterCrashes(async ({ disk }) => {
      await withFile(disk, async (file) => await file.sync())
      await disk.unlink('file')
    }, 50)
    assert.deepEqual([...new Set(unlinked.map(String))].sort(), ['', 'undefined'])
  })

  test('a sync does not cover what was appended while it ran', async () => {
    const found = await afterCrashes(async ({ disk }) => {
      const file = await disk.open('file', { mode: 'create' })
      await disk.syncDirectory('.')
      await file.append([Buffer.from('a')])
      const syncing = file.sync()
      await file.append([Buffer.from('b')])
      await syncing
    }, 50)
    const texts = new Set(found.map(String))
    assert.ok(texts.has('a') && texts.has('ab'))
    assert.ok([...texts].every((text) => text.startsWith('a')))
  })

  test('a process that is killed loses nothing that was written', async () => {
    const world = new VirtualWorld(1)
    const machine = world.machine('node')
    const { disk } = machine.start()
    await world.run(
      (async () => {
        const file = await disk.open('file', { mode: 'create' })
        await file.append([Buffer.from('written')])
      })(),
    )
    machine.kill()
    assert.equal(String(await world.run(content(machine.start().disk))), 'written')
  })
})

describe('the virtual disk, when something goes wrong', () => {
  const trigger = async (operation: FaultyOperation, fault: Fault): Promise<CairnError | undefined> => {
    let failure: CairnError | undefined
    await onMachine(async ({ disk }, { faults }) => {
      await withFile(disk, async (file) => {
        await file.append([spaced('x', 1000)])
        faults.plan({ operation, path: /file/, nth: 2, fault })
        try {
          for (let attempt = 0; attempt < 2; attempt += 1) {
            if (operation === 'append') await file.append([spaced('y', 1000)])
            if (operation === 'sync') await file.sync()
            if (operation === 'read') await file.read(0, new Uint8Array(10))
          }
        } catch (error) {
          failure = error as CairnError
        }
      })
    })
    return failure
  }

  test('io errors strike the planned call and no other', async () => {
    for (const operation of ['append', 'sync', 'read'] as const) {
      assert.equal((await trigger(operation, 'io-error'))?.code, 'disk_io', operation)
    }
  })

  test('a full disk is 507 no_space, by plan and by capacity, and frees up', async () => {
    assert.deepEqual(
      [(await trigger('append', 'no-space'))?.code, (await trigger('append', 'no-space'))?.status],
      ['no_space', 507],
    )
    await onMachine(async ({ disk }, { drive }) => {
      drive.capacityBytes = 1500
      await withFile(disk, async (file) => {
        await file.append([spaced('x', 1000)])
        await assert.rejects(file.append([spaced('y', 1000)]), { code: 'no_space' })
        assert.equal(await file.size(), 1500, 'as much as there was room for')
        await assert.rejects(file.append([Buffer.from('z')]), { code: 'no_space' }, 'and the file takes no more')
      })
      assert.deepEqual(await disk.space('.'), { freeBytes: 0, totalBytes: 1500 })
      await disk.unlink('file')
      assert.equal((await disk.space('.')).freeBytes, 1500)
    })
  })

  test('a short write leaves a part and says so', async () => {
    assert.equal((await trigger('append', 'short-write'))?.code, 'short_write')
  })

  test('a bit flips on the way to the disk, on the way from it, or where it lies', async () => {
    const original = spaced('x', 100)
    await onMachine(async ({ disk }, { faults, drive }) => {
      await withFile(disk, async (file) => {
        faults.plan({ operation: 'append', fault: 'bit-flip' })
        await file.append([original])
        const stored = await content(disk)
        assert.equal(differingBits(stored, original), 1)
        faults.plan({ operation: 'read', fault: 'bit-flip' })
        assert.equal(differingBits(await content(disk), stored), 1)
        assert.equal(differingBits(await content(disk), stored), 0, 'only that once')
        drive.damage('file', 13)
        assert.equal(differingBits(await content(disk), stored), 1)
      })
    })
    assert.equal(differingBits(original, spaced('x', 100)), 0, "the caller's bytes stay as they are")
  })

  test('after a failed sync nothing it should have covered is ever safe', async () => {
    const found = await afterCrashes(async ({ disk }, { faults }) => {
      await withFile(disk, async (file) => {
        await file.append([Buffer.from('gone')])
        faults.plan({ operation: 'sync', fault: 'io-error' })
        await assert.rejects(file.sync(), { code: 'disk_io' })
        await assert.rejects(file.append([Buffer.from('more')]), { code: 'disk_io' })
      })
      await withFile(disk, async (file) => await file.sync())
    }, 50)
    assert.ok(found.some((bytes) => bytes?.length === 0))
  })

  test('rates strike by chance, the same for the same seed', async () => {
    const failures = async (seed: number): Promise<string> => {
      let seen = ''
      await onMachine(async ({ disk }, { faults }) => {
        faults.rates = { 'io-error': 0.2 }
        for (let attempt = 0; attempt < 40; attempt += 1) {
          try {
            await disk.list('.')
            seen += '.'
          } catch {
            seen += 'x'
          }
        }
        faults.clear()
        await disk.list('.')
      }, seed)
      return seen
    }
    const first = await failures(1)
    assert.match(first, /x/)
    assert.match(first, /\./)
    assert.equal(await failures(1), first)
    assert.notEqual(await failures(2), first)
  })
})

describe('crash images', () => {
  test('are all subsets of what was pending at every prefix, when they are few', async () => {
    const machine = await onMachine(async ({ disk }, { drive }) => {
      await using file = await disk.open('file', { mode: 'create' })
      await disk.syncDirectory('.')
      drive.mark('named')
      await file.append([Buffer.from('a')])
      await file.append([Buffer.from('b')])
    })
    const images = [...machine.drive.images({ random: new SeededRandom(1), subsetsMax: 16, from: 0 })]
    const atEnd = images.filter(({ prefix, marks }) => prefix === 5 && marks.includes('named'))
    const contents = atEnd.map(({ table }) => {
      const inode = [...table().values()].find(({ tag }) => tag === 'file')
      const bytes = Buffer.alloc(inode?.tag === 'file' ? inode.bytes.length : 0)
      if (inode?.tag === 'file') inode.bytes.read(0, bytes)
      return bytes.toString('latin1')
    })
    assert.deepEqual([...new Set(contents)].sort(), ['', '\0b', 'a', 'a\0', 'ab'])
  })
})

function differingBits(a: Uint8Array, b: Uint8Array): number {
  assert.equal(a.length, b.length)
  let bits = 0
  for (const [at, byte] of a.entries()) bits += (byte ^ (b[at] ?? 0)).toString(2).replaceAll('0', '').length
  return bits
}
