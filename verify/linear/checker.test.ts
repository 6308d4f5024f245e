import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkLinearizable, type Operation, type SequentialSpec } from './checker.ts'

type Call = 'read' | 'add'
const COUNTER: SequentialSpec<number, Call, number> = {
  initial: 0,
  serve: (state, call, result) => {
    const next = call === 'add' ? state + 1 : state
    return result === next ? next : undefined
  },
  key: String,
  isEager: () => false,
}

function operation(call: Call, result: number, invoked: number, responded: number): Operation<Call, number> {
  return { client: 'any', call, result, invoked, responded, at: [invoked, responded] }
}

const holds = (...history: Operation<Call, number>[]): boolean => checkLinearizable(history, COUNTER).isLinearizable

test('a read during an addition may see either side of it', () => {
  assert.ok(holds(operation('add', 1, 0, 3), operation('read', 0, 1, 2)))
  assert.ok(holds(operation('add', 1, 0, 3), operation('read', 1, 1, 2)))
})

test('a read after an addition sees it', () => {
  assert.ok(holds(operation('add', 1, 0, 1), operation('read', 1, 2, 3)))
  assert.ok(!holds(operation('add', 1, 0, 1), operation('read', 0, 2, 3)))
})

test('two reads one after the other do not go back, even while the addition is under way', () => {
  assert.ok(!holds(operation('add', 1, 0, 9), operation('read', 1, 1, 2), operation('read', 0, 3, 4)))
})

test('two additions are not told the same', () => {
  assert.ok(!holds(operation('add', 1, 0, 3), operation('add', 1, 1, 2)))
  assert.ok(holds(operation('add', 2, 0, 3), operation('add', 1, 1, 2)))
})
