import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findNearest } from './suggestions.ts'

test('the word that was meant is found through one slip in three letters', () => {
  const known = ['start', 'stop', 'status', 'token', 'config']
  for (const [typed, meant] of [
    ['stauts', 'status'],
    ['sttaus', 'status'],
    ['statu', 'status'],
    ['strat', 'start'],
    ['tokens', 'token'],
    ['konfig', 'config'],
    ['frobnicate', undefined],
    ['s', undefined],
  ] as const) {
    assert.equal(findNearest(typed, known), meant, typed)
  }
  assert.equal(findNearest('x', []), undefined)
})
