import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { applyMutant, diffOf, type Mutant, withMutant } from './mutant.ts'

const source = new URL('./', import.meta.url)
const mutant: Mutant = {
  name: 'schedules begin with b',
  file: 'schedule.ts',
  find: "const FIRST_LETTER = 'a'",
  replace: "const FIRST_LETTER = 'b'",
  expect: 'nothing',
}

test('the edited copy is imported, the original stays, and the copy is removed', async () => {
  const before = await readFile(new URL(mutant.file, source), 'utf8')
  const directory = await withMutant(source, mutant, async (copy) => {
    const edited = (await import(new URL(mutant.file, copy).href)) as typeof import('./schedule.ts')
    assert.deepEqual(edited.parseSchedule('b').choices, [{ task: 0, branch: 0 }])
    return copy
  })
  assert.equal(await readFile(new URL(mutant.file, source), 'utf8'), before)
  assert.equal(existsSync(directory), false)
})

test('the copy is removed when its user throws', async () => {
  let copy = source
  const failing = withMutant(source, mutant, async (directory) => {
    copy = directory
    await Promise.reject(new Error('on purpose'))
  })
  await assert.rejects(failing, /on purpose/)
  assert.notEqual(copy, source)
  assert.equal(existsSync(copy), false)
})

test('an edit that matches nowhere, twice, or over two lines is refused', () => {
  const edit = (find: string): Mutant => ({ ...mutant, find })
  assert.throws(() => applyMutant('one two', edit('three')), /occurs 0 times/)
  assert.throws(() => applyMutant('one one', edit('one')), /occurs 2 times/)
  assert.throws(() => applyMutant('one\ntwo', edit('one\ntwo')), /more than one line/)
})

test('the diff shows the line before and after', async () => {
  const [title, place, removed, added] = (await diffOf(source, mutant)).split('\n')
  assert.equal(title, 'mutant: schedules begin with b')
  assert.match(place ?? '', /^ {2}schedule\.ts:\d+$/)
  assert.equal(removed, "  - const FIRST_LETTER = 'a'.charCodeAt(0)")
  assert.equal(added, "  + const FIRST_LETTER = 'b'.charCodeAt(0)")
})
