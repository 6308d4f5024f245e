import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { differenceOf, type GeneratedDoc, writeDoc } from './golden.ts'

const docOf = (...lines: readonly string[]): GeneratedDoc => ({
  output: 'docs/generated/queues.md',
  render: async () => lines.map((line) => `${line}\n`).join(''),
})

describe('a generated document', () => {
  let root = ''
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'cairn-docs-'))
  })
  afterEach(() => rmSync(root, { recursive: true }))

  test('is written once and left alone while nothing changes', async () => {
    assert.equal(await writeDoc(docOf('# Queues'), root), true)
    assert.equal(await writeDoc(docOf('# Queues'), root), false)
    assert.equal(readFileSync(join(root, 'docs/generated/queues.md'), 'utf8'), '# Queues\n')
    assert.equal(await differenceOf(docOf('# Queues'), root), undefined)
  })

  test('that is missing is reported by name', async () => {
    assert.match((await differenceOf(docOf('# Queues'), root)) ?? '', /queues\.md does not exist/)
  })

  test('that differs is reported by its first differing line, both ways', async () => {
    await writeDoc(docOf('# Queues', 'work 512', 'audit 64'), root)
    assert.equal(
      await differenceOf(docOf('# Queues', 'work 1024', 'audit 128'), root),
      [
        'docs/generated/queues.md:2 is out of date. Run `npm run docs`.',
        '  the code says:     work 1024',
        '  the document says: work 512',
      ].join('\n'),
    )
  })

  test('that is too short or too long is reported at its end', async () => {
    await writeDoc(docOf('# Queues', 'work 512'), root)
    assert.match((await differenceOf(docOf('# Queues', 'work 512', 'audit 64'), root)) ?? '', /:3 .*\n.*audit 64\n/)
    assert.match((await differenceOf(docOf('# Queues'), root)) ?? '', /:2 .*\n.*says: +\n.*work 512$/)
  })
})
