import assert from 'node:assert/strict'
import { test } from 'node:test'
import { groupsOf, renderHelp } from './help.ts'
import { COMMANDS } from './table.ts'

test('every command is in one group of the help, and the columns are those of one table', () => {
  const grouped = groupsOf(COMMANDS).flatMap(({ rows }) => rows.map(({ name }) => name))
  assert.deepEqual(grouped.toSorted(), COMMANDS.map(({ name }) => name).toSorted())
  const lines = renderHelp('').split('\n')
  for (const { title } of groupsOf(COMMANDS)) assert.ok(lines.includes(`${title}:`), title)
  const starts = COMMANDS.map(({ name, summary }) => {
    return lines.find((line) => line.startsWith(`  ${name} `) && line.includes(summary))?.indexOf(summary)
  })
  assert.equal(new Set(starts).size, 1)
})
