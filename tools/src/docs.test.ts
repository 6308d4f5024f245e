import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GENERATED_DOCS } from './generated-docs.ts'
import { differenceOf } from './golden.ts'

for (const doc of GENERATED_DOCS) {
  test(`${doc.output} says what the code says`, async () => {
    const difference = await differenceOf(doc)
    if (difference !== undefined) assert.fail(difference)
  })
}
