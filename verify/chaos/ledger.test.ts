import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allowedAfter, Ledger } from './ledger.ts'

const refuse = async (): Promise<never> => await Promise.reject(new Error('refused'))

test('what was acknowledged is all that may be found; what is under way may or may not', async () => {
  const marks: string[] = []
  const ledger = new Ledger((mark) => void marks.push(mark))
  assert.throws(() => ledger.found('a', 'present'), /may only be absent/, 'nobody asked for it')
  await ledger.request('a', 'present', async () => await Promise.resolve())
  assert.throws(() => ledger.found('a', 'absent'), /may only be present/, 'a lost promise')
  ledger.begin('a', 'absent')
  assert.deepEqual([...ledger.allowed('a')].sort(), ['absent', 'present'])
  ledger.acknowledge('a', 'absent')
  assert.throws(() => ledger.found('a', 'present'), /may only be absent/, 'a removed one is back')
  assert.deepEqual(allowedAfter(marks).get('a'), new Set(['absent']))
  assert.deepEqual(allowedAfter(marks.slice(0, 3)).get('a'), new Set(['present', 'absent']))
})

test('a refused request promises nothing, and what was found once must stay', async () => {
  const ledger = new Ledger()
  await assert.rejects(ledger.request('a', 'present', refuse), /refused/)
  ledger.found('a', 'absent')
  assert.throws(() => ledger.found('a', 'present'), /may only be absent/)
  assert.equal(ledger.promises, 0)
})
