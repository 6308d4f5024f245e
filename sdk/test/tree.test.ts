import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { CairnError } from '@cairn/kernel'
import { type Address, encodeCbor, encodeTree, type TreeEntry } from '@cairn/wire'
import type { DirectoryReader, DirectoryWriter, ReadableEntry } from '../src/index.ts'
import { CHUNK, collect, noise } from './bytes.ts'
import { StorageService } from './storage-service.ts'

let service: StorageService
before(async () => {
  service = await StorageService.start()
})
after(async () => await service[Symbol.asyncDispose]())

/** A directory as a value: names to bytes, targets of links or more of the same; executable files end in `.sh`. */
interface Folder {
  [name: string]: Uint8Array | string | Folder
}

function reader(folder: Folder): DirectoryReader {
  return {
    async *entries(): AsyncGenerator<ReadableEntry> {
      for (const [name, content] of Object.entries(folder)) {
        if (content instanceof Uint8Array) yield { kind: 'file', name, open: content, executable: name.endsWith('.sh') }
        else if (typeof content === 'string') yield { kind: 'link', name, target: content }
        else yield { kind: 'tree', name, directory: reader(content) }
      }
    },
  }
}

function writer(folder: Folder): DirectoryWriter {
  return {
    file: async (name, bytes, { executable }) => {
      assert.equal(executable, name.endsWith('.sh'))
      folder[name] = await collect(bytes)
    },
    link: async (name, target) => {
      folder[name] = target
    },
    directory: async (name) => {
      const below: Folder = {}
      folder[name] = below
      return writer(below)
    },
  }
}

const SAMPLE: Folder = {
  'read me.txt': noise(10),
  empty: {},
  nothing: new Uint8Array(0),
  'run.sh': noise(4),
  deep: {
    up: '../read me.txt',
    deeper: { 'do.sh': noise(5), around: '../..', 'ü.bin': noise(3 * CHUNK, 2), z: noise(CHUNK, 3) },
    ...Object.fromEntries(manyFiles(40)),
  },
}

function manyFiles(count: number): [string, Uint8Array][] {
  return Array.from({ length: count }, (_, index) => [`file-${index}`, noise(100 + index, index)])
}

test('a directory comes back as it was, and has one address', async () => {
  const cairn = service.client()
  service.inFlightMost = 0
  const put = await cairn.putTree(reader(SAMPLE))
  assert.ok(service.inFlightMost > 1 && service.inFlightMost <= 8, `${service.inFlightMost} at once`)
  assert.equal(put.files, 46)
  const back: Folder = {}
  const got = await cairn.getTree(put.address, writer(back))
  assert.deepEqual(back, SAMPLE)
  assert.deepEqual([got.files, got.bytes], [put.files, put.bytes])
  const again = await cairn.putTree(reader(back))
  assert.equal(again.address, put.address)
  assert.deepEqual(
    (await cairn.readTree(put.address)).map(({ name }) => name),
    ['deep', 'empty', 'nothing', 'read me.txt', 'run.sh'],
  )
})

test('what is no directory is refused, and so is every name that leads out of one', async () => {
  const cairn = service.client()
  const { address: id } = await cairn.put(noise(10))
  await assert.rejects(cairn.getTree(id, writer({})), { kind: 'Malformed', code: 'not_a_tree' })
  for (const name of ['..', '.', '', 'a/b', '../x', 'a\0b']) {
    const entry = { id: new Uint8Array(32), kind: 'file', name, size: 0 }
    const { address } = await cairn.put(encodeCbor({ v: 1, kind: 'tree', entries: [entry] }))
    const touched: Folder = {}
    await assert.rejects(cairn.getTree(address, writer(touched)), { code: 'not_a_tree' })
    assert.deepEqual(touched, {})
  }
})

test('a link that leads out of the directory or through another link is refused before any link is written', async () => {
  const cairn = service.client()
  const { address: id, size } = await cairn.put(encodeTree([{ kind: 'link', name: 'l', target: '../..' }]))
  const hostile: readonly (readonly TreeEntry[])[] = [
    [{ kind: 'link', name: 'l', target: '..' }],
    [{ kind: 'tree', name: 'below', id, size }],
    [
      { kind: 'link', name: 'ok', target: 'x' },
      { kind: 'link', name: 'through', target: 'ok/y' },
    ],
  ]
  for (const entries of hostile) {
    const { address } = await cairn.put(encodeTree(entries))
    const written: string[] = []
    const watched: DirectoryWriter = {
      file: async () => undefined,
      directory: async () => watched,
      link: async (name) => {
        written.push(name)
      },
    }
    await assert.rejects(cairn.getTree(address, watched), { kind: 'Malformed', code: 'bad_link' })
    assert.deepEqual(written, [])
  }
  await assert.rejects(cairn.putTree(reader({ out: '../x' })), { code: 'bad_link' })
  await assert.rejects(cairn.putTree(reader({ out: '/x' })), { kind: 'Malformed' })
})

test('a directory that lies about a size is noticed', async () => {
  const cairn = service.client()
  const { address: id } = await cairn.put(noise(10))
  const { address } = await cairn.put(encodeTree([{ kind: 'file', name: 'a', id, size: 11 }]))
  await assert.rejects(cairn.getTree(address, writer({})), { kind: 'Integrity' })
})

test('a few objects that stand for millions of files, or for endless depth, are refused', async () => {
  const cairn = service.client()
  const { address: id } = await cairn.put(new Uint8Array(0))
  const nest = async (entries: readonly TreeEntry[]): Promise<{ id: Address; size: number }> => {
    const { address, size } = await cairn.put(encodeTree(entries))
    return { id: address, size }
  }
  let deep = await nest([{ kind: 'file', name: 'a', id, size: 0 }])
  for (let level = 0; level < 130; level += 1) deep = await nest([{ kind: 'tree', name: 'a', ...deep }])
  await assert.rejects(cairn.getTree(deep.id, writer({})), { kind: 'TooLarge' })

  let wide = await nest([])
  for (let level = 0; level < 3; level += 1)
    wide = await nest(['a', 'b', 'c', 'd'].map((name) => ({ kind: 'tree', name, ...wide })))
  await cairn.getTree(wide.id, writer({}), { entriesMax: 4 + 16 + 64 })
  await assert.rejects(cairn.getTree(wide.id, writer({}), { entriesMax: 83 }), { kind: 'TooLarge' })
})

test('a file that cannot be read ends the put with its error', async () => {
  async function* broken(): AsyncGenerator<Uint8Array> {
    yield noise(10)
    throw new CairnError('NotFound', 'Gone.')
  }
  const folder: DirectoryReader = {
    async *entries() {
      yield { kind: 'file', name: 'a', open: noise(10) } as const
      yield { kind: 'file', name: 'b', open: broken } as const
    },
  }
  await assert.rejects(service.client().putTree(folder), { kind: 'NotFound' })
})

test('what went wrong is told, not that others were canceled for it', async () => {
  const files = Object.fromEntries(manyFiles(40))
  const cairn = service.client()
  const { address } = await cairn.putTree(reader({ ...files, deep: { deeper: files } }))
  for (const failing of ['file-0', 'file-9', 'file-39']) {
    const full: DirectoryWriter = {
      file: async (name, bytes) => {
        await collect(bytes)
        if (name === failing) throw new Error('Full.')
      },
      directory: async () => await Promise.resolve(full),
      link: async () => undefined,
    }
    await assert.rejects(cairn.getTree(address, full), { message: 'Full.' })
    const lost: Folder = { ...files, deep: { deeper: files } }
    const unreadable = reader(lost)
    const broken: DirectoryReader = {
      async *entries() {
        for await (const entry of unreadable.entries()) {
          const fails = entry.kind === 'file' && entry.name === failing
          const open = async function* (): AsyncGenerator<Uint8Array> {
            yield await Promise.reject(new Error('Unreadable.'))
          }
          yield fails ? { kind: 'file', name: entry.name, open } : entry
        }
      },
    }
    await assert.rejects(cairn.putTree(broken), { message: 'Unreadable.' })
  }
})
