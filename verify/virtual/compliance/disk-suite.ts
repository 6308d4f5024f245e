/** What every `Disk` does, whoever implements it. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type ErrorKind, isKind } from '@cairn/kernel'
import type { Disk } from '@cairn/platform'
import type { MakeSubject } from './subject.ts'

export function testDisk(name: string, make: MakeSubject<Disk>): void {
  const behaves = (behaviour: string, body: (disk: Disk, root: string) => Promise<void>): void => {
    test(behaviour, async () => {
      const { subject, root, run, finish } = await make()
      await run(body(subject, root))
      await finish()
    })
  }
  describe(`${name} is a Disk`, () => {
    testFiles(behaves)
    testNames(behaves)
    testDirectories(behaves)
  })
}

type Behaves = (behaviour: string, body: (disk: Disk, root: string) => Promise<void>) => void

function testFiles(behaves: Behaves): void {
  behaves('appends one after the other and says where each began', async (disk, root) => {
    await using file = await disk.open(`${root}/log`, { mode: 'create' })
    assert.equal(await file.append([bytes('ab'), bytes('c')]), 0)
    assert.equal(await file.append([]), 3)
    assert.equal(await file.append([bytes('de')]), 3)
    await file.sync()
    assert.equal(await file.size(), 5)
    assert.equal(await text(disk, `${root}/log`), 'abcde')
  })

  behaves('keeps appends that are under way at once apart', async (disk, root) => {
    await using file = await disk.open(`${root}/log`, { mode: 'append' })
    const offsets = await Promise.all(['aaa', 'b', 'cc'].map(async (part) => await file.append([bytes(part)])))
    assert.deepEqual(offsets, [0, 3, 4])
    assert.equal(await text(disk, `${root}/log`), 'aaabcc')
  })

  behaves('reads at a place, and fewer bytes only at the end', async (disk, root) => {
    await using file = await disk.open(`${root}/log`, { mode: 'create' })
    await file.append([bytes('0123456789')])
    const into = new Uint8Array(4)
    assert.equal(await file.read(3, into), 4)
    assert.equal(Buffer.from(into).toString(), '3456')
    assert.equal(await file.read(8, into), 2)
    assert.equal(Buffer.from(into.subarray(0, 2)).toString(), '89')
    assert.equal(await file.read(10, into), 0)
    assert.equal(await file.read(99, into), 0)
  })

  behaves('takes a write larger than any buffer of its own', async (disk, root) => {
    const parts = Array.from({ length: 1500 }, (_, index) => new Uint8Array(200).fill(index % 251))
    await using file = await disk.open(`${root}/large`, { mode: 'create' })
    assert.equal(await file.append(parts), 0)
    const back = new Uint8Array(300_000)
    assert.equal(await file.read(0, back), 300_000)
    assert.equal(Buffer.compare(back, Buffer.concat(parts)), 0)
  })

  behaves('cuts a file, and appends at the new end', async (disk, root) => {
    await using file = await disk.open(`${root}/log`, { mode: 'create' })
    await file.append([bytes('keep, drop')])
    await file.truncate(4)
    assert.equal(await file.append([bytes('!')]), 4)
    assert.equal(await text(disk, `${root}/log`), 'keep!')
    await file.truncate(99)
    assert.equal(await file.size(), 5, 'it never lengthens a file')
  })

  behaves('goes on at the end of a file that is opened again', async (disk, root) => {
    await write(disk, `${root}/log`, 'one')
    await using file = await disk.open(`${root}/log`, { mode: 'append' })
    assert.equal(await file.append([bytes('two')]), 3)
    assert.equal(await text(disk, `${root}/log`), 'onetwo')
  })

  behaves('takes nothing through a file opened to read, and nothing once it is closed', async (disk, root) => {
    await write(disk, `${root}/log`, 'one')
    const file = await disk.open(`${root}/log`, { mode: 'read' })
    await fails('Internal', file.append([bytes('two')]))
    await file.close()
    await file.close()
    await fails('Internal', file.read(0, new Uint8Array(1)))
    assert.equal(await text(disk, `${root}/log`), 'one')
  })
}

function testNames(behaves: Behaves): void {
  behaves('creates a file once', async (disk, root) => {
    await write(disk, `${root}/key`, 'first')
    await fails('Conflict', disk.open(`${root}/key`, { mode: 'create' }), 'exists')
    await fails('NotFound', disk.open(`${root}/none`, { mode: 'read' }))
    await fails('NotFound', disk.open(`${root}/none/key`, { mode: 'append' }))
  })

  behaves('renames over what is there', async (disk, root) => {
    await write(disk, `${root}/old`, 'old')
    await write(disk, `${root}/new`, 'new')
    await disk.rename(`${root}/new`, `${root}/old`)
    await disk.syncDirectory(root)
    assert.equal(await text(disk, `${root}/old`), 'new')
    await fails('NotFound', disk.rename(`${root}/new`, `${root}/old`))
  })

  behaves('reads on in a file whose name is gone', async (disk, root) => {
    await write(disk, `${root}/old`, 'still here')
    await using file = await disk.open(`${root}/old`, { mode: 'read' })
    await disk.unlink(`${root}/old`)
    await fails('NotFound', disk.unlink(`${root}/old`))
    const into = new Uint8Array(5)
    await file.read(0, into)
    assert.equal(Buffer.from(into).toString(), 'still')
  })

  behaves('gives a lock to one at a time', async (disk, root) => {
    const lock = await disk.lock(`${root}/lock`)
    await fails('Conflict', disk.lock(`${root}/lock`), 'locked')
    await lock.close()
    await using _again = await disk.lock(`${root}/lock`)
  })
}

function testDirectories(behaves: Behaves): void {
  behaves('lists a directory in order of name', async (disk, root) => {
    await disk.makeDirectory(`${root}/d`)
    await disk.makeDirectory(`${root}/d`)
    for (const name of ['b', 'a', 'C', 'a0']) await write(disk, `${root}/d/${name}`, name)
    await disk.makeDirectory(`${root}/d/sub`)
    assert.deepEqual(await disk.list(`${root}/d`), [
      { name: 'C', kind: 'file' },
      { name: 'a', kind: 'file' },
      { name: 'a0', kind: 'file' },
      { name: 'b', kind: 'file' },
      { name: 'sub', kind: 'directory' },
    ])
    await fails('NotFound', disk.list(`${root}/none`))
    await fails('NotFound', disk.syncDirectory(`${root}/none`))
  })

  behaves('makes a directory only where its parent is, and never over a file', async (disk, root) => {
    await fails('NotFound', disk.makeDirectory(`${root}/a/b`))
    await write(disk, `${root}/file`, '')
    await fails('Conflict', disk.makeDirectory(`${root}/file`), 'exists')
  })

  behaves('knows how much room there is', async (disk, root) => {
    const { freeBytes, totalBytes } = await disk.space(root === '' ? '.' : root)
    assert.ok(freeBytes > 0 && freeBytes <= totalBytes)
  })

  behaves('says what is wrong without saying where', async (disk, root) => {
    await assert.rejects(disk.open(`${root}/secret-name`, { mode: 'read' }), (error: unknown) => {
      assert.ok(isKind(error, 'NotFound'))
      assert.doesNotMatch(error.message, /secret-name/)
      assert.match(String(error.cause), /secret-name/)
      return true
    })
  })
}

function bytes(content: string): Uint8Array {
  return Buffer.from(content)
}

async function write(disk: Disk, path: string, content: string): Promise<void> {
  await using file = await disk.open(path, { mode: 'create' })
  await file.append([bytes(content)])
}

async function text(disk: Disk, path: string): Promise<string> {
  await using file = await disk.open(path, { mode: 'read' })
  const into = new Uint8Array(await file.size())
  await file.read(0, into)
  return Buffer.from(into).toString()
}

async function fails(kind: ErrorKind, work: Promise<unknown>, code?: string): Promise<void> {
  await assert.rejects(work, (error: unknown) => {
    assert.ok(isKind(error, kind), `${String(error)} is not ${kind}`)
    if (code !== undefined) assert.equal(error.code, code)
    return true
  })
}
