/** Holds on directories: everything below is held, a difference costs its own writes, and nothing else goes. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Address, addressOf, encodeTree, type TreeEntry } from '@cairn/wire'
import { isProblem } from '../../../verify/virtual/answer.ts'
import { type ServiceOptions, TestService } from './harness.ts'
import { driveSwitch, withDrives } from './several-drives.ts'

const OWNER = 'name:site@1.0'

type Files = Readonly<Record<string, string>>

async function put(service: TestService, bytes: Uint8Array): Promise<Address> {
  const answer = await service.ask('POST', '/o?stream', { body: bytes })
  assert.ok(answer.status === 200 || answer.status === 201)
  return addressOf(bytes)
}

/** A directory with these files, and `sub` with those. */
async function putSite(service: TestService, files: Files, sub: Files): Promise<Address> {
  const entries = async (of: Files): Promise<TreeEntry[]> => {
    const found: TreeEntry[] = []
    for (const [name, text] of Object.entries(of)) {
      const bytes = Buffer.from(text)
      found.push({ name, kind: 'file', id: await put(service, bytes), size: bytes.length })
    }
    return found
  }
  const inner = encodeTree(await entries(sub))
  const below: TreeEntry = { name: 'sub', kind: 'tree', id: await put(service, inner), size: inner.length }
  return await put(service, encodeTree([...(await entries(files)), below]))
}

interface Told {
  readonly objects: number
  readonly changed: number
  readonly missing: number
  readonly missing_addresses: readonly Address[]
  readonly done?: boolean
}

async function ofTree(service: TestService, method: 'PUT' | 'DELETE', root: Address, keep = ''): Promise<Told> {
  const answer = await service.ask(method, `/refs/${encodeURIComponent(OWNER)}/${root}?tree${keep}`)
  assert.equal(answer.status, 200)
  const lines = answer.body.toString().trimEnd().split('\n')
  const last = JSON.parse(lines.at(-1) ?? '') as Told
  assert.equal(last.done, true)
  return last
}

async function remove(service: TestService, text: string): Promise<string> {
  const answer = await service.ask('DELETE', `/o/${addressOf(Buffer.from(text))}`)
  return answer.status === 204 ? 'gone' : `${answer.status} ${answer.code}`
}

const PLACES: readonly { readonly name: string; readonly options: () => ServiceOptions }[] = [
  { name: 'one drive', options: () => ({}) },
  { name: 'three drives with two copies', options: () => withDrives(['a', 'b', 'c'], driveSwitch(), {}) },
]

for (const { name, options } of PLACES) {
  describe(`on ${name}`, () => {
    test('everything below a held directory is held, and names who holds it', async () => {
      const service = await TestService.start(options())
      const root = await putSite(service, { a: 'one', b: 'two' }, { c: 'three' })
      assert.deepEqual(await ofTree(service, 'PUT', root), {
        objects: 5,
        changed: 5,
        missing: 0,
        missing_addresses: [],
        done: true,
      })
      for (const text of ['one', 'two', 'three']) {
        const refused = await service.ask('DELETE', `/o/${addressOf(Buffer.from(text))}`)
        isProblem(refused, 409, 'referenced')
        assert.match(refused.body.toString(), /held by name:site@1\.0/)
      }
      isProblem(await service.ask('DELETE', `/o/${root}`), 409, 'referenced')
      assert.equal((await ofTree(service, 'PUT', root)).changed, 0, 'what is held already costs nothing')
      assert.equal((await ofTree(service, 'DELETE', root)).changed, 5)
      for (const text of ['one', 'two', 'three']) assert.equal(await remove(service, text), 'gone')
      assert.equal((await ofTree(service, 'DELETE', root)).changed, 0)
      await service.stop()
    })

    test('moving on writes the difference, and leaves what the new version has too', async () => {
      const service = await TestService.start(options())
      const before = await putSite(service, { same: 'same', old: 'old' }, { deep: 'deep' })
      const after = await putSite(service, { same: 'same', new: 'new' }, { deep: 'deep' })
      await ofTree(service, 'PUT', before)
      assert.equal((await ofTree(service, 'PUT', after)).changed, 2, 'the new file, and the root')
      assert.equal((await ofTree(service, 'DELETE', before, `&keep=${after}`)).changed, 2)
      assert.deepEqual(
        [await remove(service, 'old'), await remove(service, 'same'), await remove(service, 'deep')],
        ['gone', '409 referenced', '409 referenced'],
      )
      await service.stop()
    })

    test('what is missing is told, what is there is held; no root is 404', async () => {
      const service = await TestService.start(options())
      const root = await putSite(service, { a: 'one', b: 'two' }, {})
      await service.ask('DELETE', `/o/${addressOf(Buffer.from('two'))}`)
      const { missing, missing_addresses: gone, changed } = await ofTree(service, 'PUT', root)
      assert.deepEqual([missing, gone, changed], [1, [addressOf(Buffer.from('two'))], 3])
      const nowhere = addressOf(Buffer.from('nowhere'))
      isProblem(await service.ask('PUT', `/refs/${encodeURIComponent(OWNER)}/${nowhere}?tree`), 404, 'not_found')
      await service.stop()
    })
  })
}

test('what only begins like a directory, and what is none at all, is held as one object', async () => {
  const service = await TestService.start()
  const file = await put(service, Buffer.from('plain'))
  const cut = await put(service, encodeTree([{ name: 'a', kind: 'file', id: file, size: 5 }]).subarray(0, 40))
  for (const id of [file, cut]) assert.equal((await ofTree(service, 'PUT', id)).objects, 1)
  assert.equal(await remove(service, 'plain'), '409 referenced')
  await service.stop()
})

test('a directory of many files is held with progress, and one changed file costs one write', async () => {
  const count = 5000
  const service = await TestService.start({ config: { cache_bytes: '32MiB' } })
  const names = Array.from({ length: count }, (_, n) => `file-${String(n).padStart(6, '0')}`)
  const shared = await put(service, Buffer.from('the same in all'))
  const other = await put(service, Buffer.from('another'))
  const entryOf = (name: string, id: Address, size: number): TreeEntry => ({ name, kind: 'file', id, size })
  const first = await put(service, encodeTree(names.map((name) => entryOf(name, shared, 15))))
  const second = encodeTree(names.map((name, n) => (n === 7 ? entryOf(name, other, 7) : entryOf(name, shared, 15))))
  const answer = await service.ask('PUT', `/refs/${encodeURIComponent(OWNER)}/${first}?tree`)
  assert.ok(answer.body.toString().split('\n').length > count / 1024, 'a line for each step')
  assert.equal((await ofTree(service, 'PUT', await put(service, second))).changed, 2)
  await service.stop()
})

test('a hold that comes while the end of the one before is on its way stays', async () => {
  const service = await TestService.start()
  const id = await put(service, Buffer.from('held again'))
  const { objects } = service.parts
  await service.world.run(objects.holdAll(OWNER, [id]))
  const [ended, held] = [objects.releaseAll(OWNER, [id]), objects.holdAll(OWNER, [id])]
  assert.deepEqual(await service.world.run(Promise.all([ended, held])), [1, { written: 1, missing: [] }])
  assert.equal(await remove(service, 'held again'), '409 referenced')
  await service.stop()
})
