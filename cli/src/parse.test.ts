import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CommandRow } from './command.ts'
import { type Parsed, parse } from './parse.ts'
import { COMMON_OPTIONS } from './shared-options.ts'
import { COMMANDS } from './table.ts'

function row(name: string, more: Partial<CommandRow> = {}): CommandRow {
  return {
    name,
    summary: '',
    operands: [],
    options: [],
    examples: [],
    load: () => Promise.reject(new Error('x')),
    ...more,
  }
}

const ROWS: readonly CommandRow[] = [
  row('start', {
    options: [
      { name: 'port-base', value: 'N', does: '' },
      { name: 'amnesia', does: '' },
    ],
  }),
  row('status'),
  row('token mint', {
    options: [
      { name: 'for', value: 'SERVICE', choices: ['storage', 'edge'], does: '' },
      { name: 'scope', value: 'SCOPE', repeats: true, does: '' },
    ],
  }),
  row('token inspect', { operands: [{ name: 'TOKEN', required: false, does: '' }] }),
  row('completion', { operands: [{ name: 'SHELL', required: true, choices: ['bash', 'zsh'], does: 'the shell.' }] }),
]

const read = (line: string): Parsed => parse(line === '' ? [] : line.split(' '), ROWS, COMMON_OPTIONS)

function ran(line: string): Parsed & { tag: 'run' } {
  const parsed = read(line)
  assert.equal(parsed.tag, 'run', JSON.stringify(parsed))
  return parsed
}

function refused(line: string): string {
  const parsed = read(line)
  assert.equal(parsed.tag, 'usage', JSON.stringify(parsed))
  return parsed.detail
}

test('a command is its words, wherever its options stand', () => {
  for (const line of ['token mint --for edge --json', '--json token --for=edge mint', 'token --for edge --json mint']) {
    const { command, given } = ran(line)
    assert.equal(command.name, 'token mint')
    assert.equal(given.text('for'), 'edge')
    assert.ok(given.has('json'))
  }
})

test('an option given twice counts last, one that repeats counts each time', () => {
  const { given } = ran('token mint --for edge --for storage --scope a --scope b')
  assert.equal(given.text('for'), 'storage')
  assert.deepEqual(given.texts('scope'), ['a', 'b'])
  assert.deepEqual(given.texts('path'), [])
})

test('operands are what is left; a lone dash is one, and after -- everything is', () => {
  assert.deepEqual(ran('token inspect -').given.operands, ['-'])
  assert.deepEqual(ran('token inspect').given.operands, [])
  assert.deepEqual(ran('token inspect -- --odd').given.operands, ['--odd'])
})

test('short options work alone and with a long one', () => {
  assert.ok(ran('status -q').given.has('quiet'))
  assert.equal(read('status -h').tag, 'help')
})

test('help is asked for with an option or a word, of everything, a noun or a command', () => {
  for (const [line, topic] of [
    ['--help', ''],
    ['help', ''],
    ['token --help', 'token'],
    ['help token mint', 'token mint'],
    ['token mint -h', 'token mint'],
    ['token mint --help --for', 'token mint'],
  ] as const) {
    const parsed = read(line)
    assert.deepEqual(parsed.tag === 'help' ? parsed.topic : parsed, topic)
  }
  assert.equal(read('--version').tag, 'version')
})

test('a word that is no command is refused with the one that was meant', () => {
  assert.equal(refused('stauts'), 'There is no command "stauts"; did you mean cairn status?')
  assert.equal(refused('token mnit'), 'There is no command "token mnit"; did you mean cairn token mint?')
  assert.equal(refused('frobnicate'), 'There is no command "frobnicate".')
  assert.equal(refused('stauts --help'), 'There is no command "stauts"; did you mean cairn status?')
  assert.equal(refused(''), 'Name a command.')
  assert.equal(refused('token'), 'Say what to do with token.')
})

test('an option the command does not have is refused, even if another has it', () => {
  assert.equal(refused('start --prot-base 1'), 'There is no option --prot-base here; did you mean --port-base?')
  assert.equal(refused('status --amnesia'), 'There is no option --amnesia here.')
  assert.equal(refused('status -x'), 'There is no option -x here.')
})

test('a value that is missing, not wanted or not one of the choices is refused', () => {
  assert.equal(refused('start --port-base'), '--port-base needs a value: --port-base N.')
  assert.equal(refused('start --port-base --amnesia'), '--port-base needs a value: --port-base N.')
  assert.equal(refused('start --port-base='), '--port-base needs a value: --port-base N.')
  assert.equal(refused('start --amnesia=yes'), '--amnesia takes no value.')
  assert.equal(refused('token mint --for egde'), '--for is one of storage, edge; not egde. Did you mean edge?')
})

test('operands that are missing, too many or not one of the choices are refused', () => {
  assert.equal(refused('completion'), 'cairn completion needs SHELL: the shell.')
  assert.equal(refused('completion tcsh'), 'SHELL is one of bash, zsh; not tcsh.')
  assert.equal(refused('completion bahs'), 'SHELL is one of bash, zsh; not bahs. Did you mean bash?')
  assert.equal(refused('completion bash zsh'), 'cairn completion does not take "zsh".')
  assert.equal(refused('status now'), 'cairn status does not take "now".')
})

test('what was asked about the output is known even where the command is wrong', () => {
  assert.ok(read('stauts --json').given.has('json'))
  assert.ok(read('status --nope --json').given.has('json'))
})

test('what other tools call it is answered with what it is called here', () => {
  const said = (...args: string[]): string => {
    const parsed = parse(args, COMMANDS, COMMON_OPTIONS)
    assert.equal(parsed.tag, 'usage', args.join(' '))
    return parsed.detail
  }
  for (const word of ['add', 'upload', 'cp', 'sync', 'pin']) assert.match(said(word, 'x'), /cairn calls that put/)
  for (const word of ['cat', 'fetch', 'download']) assert.match(said(word, 'x'), /cairn calls that get/)
  assert.match(said('remove', 'x'), /cairn calls that rm/)
  for (const word of ['version']) assert.match(said(word), /did you mean cairn --version\?/)
  for (const option of ['-v', '-V']) assert.match(said('put', 'x', option), /did you mean --version\?/)
  for (const option of ['-v', '-V']) assert.match(said(option), /did you mean --version\?/)
  for (const word of ['ui', 'logs']) assert.doesNotMatch(said(word), /command "\w+"\.$/)
  assert.match(said('name', 'proposals'), /did you mean cairn name pending\?/)
  assert.match(said('name', 'list'), /cairn name log/)
  assert.equal(said('toString'), 'There is no command "toString".')
})
