import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CairnError } from '@cairn/kernel'
import { Capture } from '../test/capture.ts'
import { CommandArguments } from './command.ts'
import { Printer } from './print.ts'
import { asCalled, commandName, escapeControls, escapeControlsInLines, wrapText } from './terminal-text.ts'

test('lines are broken between words, and what follows is indented', () => {
  const text = 'The quick brown fox jumps over the lazy dog.\nShort.'
  assert.deepEqual(wrapText(text, 24, '  ').split('\n'), [
    'The quick brown fox',
    '  jumps over the lazy',
    '  dog.',
    'Short.',
  ])
})

test('without a known width nothing is broken', () => {
  assert.equal(wrapText('a '.repeat(100), undefined), 'a '.repeat(100))
})

test('a word longer than a line stays whole', () => {
  const address = `b3:${'ab'.repeat(32)}`
  const lines = wrapText(`Nobody is known to hold ${address} any more, it seems.`, 40, '  ').split('\n')
  assert.ok(lines.includes(`  ${address}`), lines.join('\n'))
  assert.deepEqual(lines.join(' ').replaceAll(/ +/g, ' '), `Nobody is known to hold ${address} any more, it seems.`)
})

/** Escape sequences of both forms, bidirectional controls, what takes no room, line separators. */
const FOREIGN = 'a\u001B[2J\u0007\u009B31m\u007F\u202Eexe\u2066\u200B\u2028\u2029\uFEFF\u00ADz'
const SHOWN = 'a\\u{1B}[2J\\u{7}\\u{9B}31m\\u{7F}\\u{202E}exe\\u{2066}\\u{200B}\\u{2028}\\u{2029}\\u{FEFF}\\u{AD}z'
const TAG = String.fromCodePoint(0xe0041)
const NEVER = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u

test('what a terminal acts on and what nobody can see is written as a number', () => {
  assert.equal(escapeControls(FOREIGN), SHOWN)
  assert.equal(escapeControls(`${TAG}\uD800`), '\\u{E0041}\\u{D800}')
  assert.equal(escapeControls('two\nlines\tand a tab'), 'two\\u{A}lines\\u{9}and a tab')
  assert.equal(escapeControlsInLines(`two\nlines\t${FOREIGN}`), `two\nlines\t${SHOWN}`)
})

test('text in any script stays as it is', () => {
  for (const text of ['naïve', '日本語', 'עברית', 'العربية', 'हिन्दी', '🙂', 'a b', '/\\"'])
    assert.equal(escapeControls(text), text)
})

test('a printer shows nothing hidden in data, messages, warnings, steps and errors', () => {
  const terminal = new Capture()
  const printer = new Printer(terminal, new CommandArguments([], new Map()), 'ls')
  const outcome = { result: null, data: `${FOREIGN}\n`, message: FOREIGN, warnings: [FOREIGN], next: [FOREIGN] }
  printer.outcome(outcome)
  printer.outcome({ ...outcome, error: new CairnError('Conflict', FOREIGN) })
  printer.failure(new CairnError('Internal', FOREIGN, { cause: new Error(FOREIGN) }))
  assert.doesNotMatch(terminal.data + terminal.words, NEVER)
  assert.ok(terminal.data.includes(SHOWN) && terminal.words.includes(SHOWN))
})

test('with --json a program reads exactly what it was', () => {
  const terminal = new Capture()
  new Printer(terminal, new CommandArguments([], new Map([['json', ['']]])), 'ls').outcome({
    result: { name: FOREIGN },
  })
  assert.equal((JSON.parse(terminal.data) as { result: { name: string } }).result.name, FOREIGN)
})

test('hints call the program as its user does', () => {
  const inClone = commandName('file:///src/cairn/cli/src/terminal-text.ts', { npm_command: 'exec' })
  assert.equal(asCalled('npx cairn start; npx cairn stop', inClone), 'npx cairn start; npx cairn stop')
  const installed = 'file:///usr/lib/node_modules/cairnd/dist/cli/src/terminal-text.js'
  assert.equal(asCalled('npx cairn start; npx cairn stop', commandName(installed, {})), 'cairn start; cairn stop')
  assert.equal(asCalled('npx cairn start', commandName(installed, { npm_command: 'exec' })), 'npx cairnd start')
})
