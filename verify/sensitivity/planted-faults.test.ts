import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { applyMutant } from '../model/mutant.ts'
import { PLANTED_FAULTS } from './planted-faults.ts'
import { DOCUMENT, readResults, renderDocument } from './results.ts'
import { reachOf } from './tools.ts'

const ROOT = new URL('../../', import.meta.url)

test('every plant still has the line it changes, and tools that look at it', () => {
  for (const planted of PLANTED_FAULTS) {
    applyMutant(readFileSync(new URL(planted.file, ROOT), 'utf8'), { ...planted, expect: '' })
    assert.ok(reachOf(planted.file).tests.length > 0)
  }
  assert.equal(new Set(PLANTED_FAULTS.map(({ id }) => id)).size, PLANTED_FAULTS.length)
})

test('results.md is what the results say', () => {
  assert.equal(readFileSync(DOCUMENT, 'utf8'), renderDocument(readResults()))
})
