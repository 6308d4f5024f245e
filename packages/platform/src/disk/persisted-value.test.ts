import assert from 'node:assert/strict'
import { test } from 'node:test'
import { virtualRuntime } from '@cairn/kernel/testing'
import { type Disk, diskFailure } from './disk.ts'
import { PersistedValue, readSmallFile } from './durable-file.ts'
import { MemoryDisk } from './memory-disk.ts'

const PATH = 'list'

/** A list of words, on a drive whose directory can refuse to be synced: what was renamed may or may not stay. */
function scene() {
  const memory = new MemoryDisk(virtualRuntime(), 1_000_000)
  const state = { fails: false }
  const disk: Disk = {
    open: async (path, options) => await memory.open(path, options),
    rename: async (from, to) => await memory.rename(from, to),
    unlink: async (path) => await memory.unlink(path),
    makeDirectory: async (path) => await memory.makeDirectory(path),
    syncDirectory: async (path) => {
      if (state.fails) throw diskFailure('EIO', path)
      await memory.syncDirectory(path)
    },
    list: async (path) => await memory.list(path),
    space: async () => await memory.space(),
    lock: async (path) => await memory.lock(path),
  }
  const encode = (words: readonly string[]): Uint8Array => Buffer.from(words.join(' '))
  const kept = new PersistedValue<readonly string[]>({ disk, path: PATH, encode }, [])
  const add = async (word: string): Promise<boolean> =>
    await kept.change((words) => (words.includes(word) ? undefined : [...words, word]))
  const remove = async (word: string): Promise<boolean> =>
    await kept.change((words) => (words.includes(word) ? words.filter((each) => each !== word) : undefined))
  const onDisk = async (): Promise<string> => Buffer.from((await readSmallFile(disk, PATH)) ?? []).toString()
  return { kept, state, add, remove, onDisk }
}

test('what was changed is in the file, and says whether there was something to change', async () => {
  const { kept, add, remove, onDisk } = scene()
  assert.deepEqual([await add('oak'), await add('oak'), await add('elm')], [true, false, true])
  assert.equal(await onDisk(), 'oak elm')
  assert.deepEqual([await remove('oak'), await remove('oak')], [true, false])
  assert.deepEqual([kept.value, await onDisk()], [['elm'], 'elm'])
})

test('changes at the same time are all made', async () => {
  const { add, onDisk } = scene()
  await Promise.all(['oak', 'elm', 'ash'].map(async (word) => await add(word)))
  assert.equal(await onDisk(), 'oak elm ash')
})

test('a write that failed may be in the file: what is asked for next is true of it, also if that is no change', async () => {
  const { kept, state, add, remove, onDisk } = scene()
  await add('oak')
  state.fails = true
  await assert.rejects(add('elm'), { code: 'disk_io' })
  assert.deepEqual(kept.value, ['oak'])
  assert.equal(await onDisk(), 'oak elm', 'as it may be')
  await assert.rejects(remove('elm'), { code: 'disk_io' }, 'not even that there is none can be said')
  state.fails = false
  assert.equal(await remove('elm'), false)
  assert.equal(await onDisk(), 'oak')
})
