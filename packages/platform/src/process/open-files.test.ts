import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openFilesLimit } from './process.ts'

const LIMITS = `Limit                     Soft Limit           Hard Limit           Units
Max processes             63491                63491                processes
Max open files            1024                 524288               files
Max locked memory         8388608              8388608              bytes
`

test('the limit of open files is read where the system says it', () => {
  assert.equal(
    openFilesLimit(() => LIMITS),
    1024,
  )
  assert.equal(
    openFilesLimit(() => LIMITS.replace('1024 ', 'unlimited ')),
    undefined,
  )
  assert.equal(
    openFilesLimit(() => {
      throw new Error('no such file')
    }),
    undefined,
  )
  if (process.platform === 'linux') assert.ok((openFilesLimit() ?? Number.POSITIVE_INFINITY) > 16)
})
