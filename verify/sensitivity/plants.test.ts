import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { applyMutant } from '../model/mutant.ts'
import { PLANTS } from './plants.ts'
import { DOCUMENT, readResults, renderDocument } from './results.ts'
import { reachOf } from './tools.ts'

const ROOT = new URL('../../', import.meta.url)

test('every plant still has the line it changes, and tools that look at it', () => {
  for (const plant of PLANTS) {
    applyMutant(readFileSync(new URL(plant.file, ROOT), 'utf8'), { ...plant, expect: '' })
    assert.ok(reachOf(plant.file).tests.length > 0)
  }
  assert.equal(new Set(PLANTS.map(({ id }) => id)).size, PLANTS.length)
})

test('results.md is what the results say', () => {
  assert.equal(readFileSync(DOCUMENT, 'utf8'), renderDocument(readResults()))
})
