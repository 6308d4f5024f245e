import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VERSION } from '@cairn/node/testing'
import { AUDIENCES } from '@cairn/wire'
import manifest from '../package.json' with { type: 'json' }
import { renderCommands, renderHelp } from './help.ts'
import { parse } from './parse.ts'
import { COMMON_OPTIONS } from './shared-options.ts'
import { COMMANDS, NOUNS } from './table.ts'

test('every command can be loaded, and no two have the same name', async () => {
  assert.equal(new Set(COMMANDS.map(({ name }) => name)).size, COMMANDS.length)
  for (const { name, load } of COMMANDS) assert.equal(typeof (await load()), 'function', name)
})

test('every example is a command line that parses, of the command it explains', () => {
  for (const { name, examples } of COMMANDS) {
    assert.ok(examples.length > 0, name)
    for (const { line } of examples) {
      // The command may stand in a pipeline.
      const own = line.split(' | ').find((part) => part.startsWith('cairn ')) ?? line
      const [program, ...args] = own.split(' ')
      assert.equal(program, 'cairn')
      const parsed = parse(args, COMMANDS, COMMON_OPTIONS)
      assert.equal(parsed.tag === 'run' ? parsed.command.name : JSON.stringify(parsed), name)
    }
  }
})

test('an option has the same shape in every command, which is how words are told apart', () => {
  const shapes = new Map<string, string>()
  for (const { name, short, value, choices } of [...COMMON_OPTIONS, ...COMMANDS.flatMap(({ options }) => options)]) {
    const shape = JSON.stringify({ short, value, choices })
    assert.equal(shapes.get(name) ?? shape, shape, name)
    shapes.set(name, shape)
  }
})

test('every noun is explained, and nothing else is', () => {
  const nouns = COMMANDS.flatMap(({ name }) => (name.includes(' ') ? [name.split(' ')[0]!] : []))
  assert.deepEqual(Object.keys(NOUNS).sort(), [...new Set(nouns)].sort())
})

test('what the table repeats so as not to load it is the same there', () => {
  const choices = COMMANDS.flatMap(({ options }) => options.filter(({ name }) => name === 'for'))
  assert.ok(choices.length > 0)
  for (const option of choices) assert.deepEqual(option.choices, AUDIENCES)
  assert.equal(manifest.version, VERSION)
})

test('the help of everything names every command, every common option and every exit code', () => {
  const help = renderHelp('')
  for (const { name, summary } of COMMANDS) assert.ok(help.includes(`  ${name} `) && help.includes(summary), name)
  for (const { name } of COMMON_OPTIONS) assert.ok(help.includes(`--${name}`), name)
  for (const code of [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 70, 130]) assert.match(help, new RegExp(`^ +${code} +\\w`, 'm'))
})

test('the help of a command has its usage, its options and its examples; of a noun, its verbs', () => {
  const mint = renderHelp('token mint')
  assert.match(mint, /^ {2}cairn token mint \[options\]$/m)
  assert.match(mint, /^ {2}--max-bytes SIZE {2}Only bodies/m)
  assert.match(mint, /^ {2}cairn token mint --for storage --scope storage:write --ttl 1h$/m)
  assert.match(renderHelp('token revoke'), /^ {2}cairn token revoke TID$/m)
  assert.match(renderHelp('token'), /^ {2}token rotate +Create a new root/m)
  assert.ok(!renderHelp('token').includes('config print'))
})

test('the page of commands has a row and the options of each', () => {
  const page = renderCommands()
  for (const { name, options } of COMMANDS) {
    assert.ok(page.includes(`\n**\`cairn ${name}`), name)
    for (const option of options) assert.ok(page.includes(`--${option.name}`), option.name)
  }
})
