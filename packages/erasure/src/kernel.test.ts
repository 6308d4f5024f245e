import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { assembled, checkedIn, sumsOf } from '../test/kernels.ts'

test('assembling the kernels gives the bytes that are checked in, here and in a fresh process', () => {
  assert.deepEqual(sumsOf(assembled()), checkedIn(), 'after a change of the kernel: npm run build:wasm')
  const program = `
    import { assembled, sumsOf } from ${JSON.stringify(new URL('../test/kernels.ts', import.meta.url).href)}
    process.stdout.write(JSON.stringify(sumsOf(assembled())))`
  const output = execFileSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' })
  assert.deepEqual(JSON.parse(output), checkedIn())
})
