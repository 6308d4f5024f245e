import assert from 'node:assert/strict'
import { test } from 'node:test'
import { COMMON_OPTIONS } from './shared-options.ts'
import { COMMANDS } from './table.ts'

/** Every flag of a command that speaks to the registry. None of them says who signs, or how many must. */
const FLAGS: Readonly<Record<string, readonly string[]>> = {
  'name pending': [],
  'name propose': ['type', 'remove', 'supersede', 'release', 'channel', 'note'],
  'name review': ['trust'],
  'name approve': ['key', 'trust', 'yes'],
  'name commit': [],
  'name show': ['at', 'proof', 'trees'],
  'name log': ['limit', 'before'],
  'registry signers': [],
  'registry rotate': ['note'],
  'registry adopt': ['checkpoint', 'moved'],
  'registry trust': ['output'],
  'registry verify': ['trust', 'max-age'],
}

test('no flag moves quorum: those of the registry are these, and no other speaks of it', () => {
  const ours = COMMANDS.filter(({ name }) => /^(?:name|registry) /.test(name))
  assert.deepEqual(Object.fromEntries(ours.map(({ name, options }) => [name, options.map((each) => each.name)])), FLAGS)
  const all = [...COMMON_OPTIONS, ...COMMANDS.flatMap(({ options }) => options)].map(({ name }) => name)
  const suspicious = /signer|quorum|threshold|approv|bypass|emergency|maintenance|^m$/i
  assert.deepEqual(
    all.filter((name) => suspicious.test(name)),
    [],
  )
})
