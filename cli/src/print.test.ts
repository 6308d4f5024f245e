import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CairnError, ERRORS, type ErrorKind } from '@cairn/kernel'
import { DENY_REASONS } from '@cairn/wire'
import { Capture } from '../test/capture.ts'
import { CommandArguments } from './command.ts'
import { EXIT_CODES, exitCodeOf } from './exit-codes.ts'
import { nextSteps, Printer } from './print.ts'

function given(...options: string[]): CommandArguments {
  return new CommandArguments([], new Map(options.map((option) => [option, ['']])))
}

const OUTCOME = {
  result: { a: 1 },
  data: 'a 1\n',
  message: 'done',
  warnings: ['mind the gap'],
  next: ['npx cairn status'],
}

test('data goes to one stream, words to the other', () => {
  const terminal = new Capture()
  assert.equal(new Printer(terminal, given(), 'status').outcome(OUTCOME), 0)
  assert.equal(terminal.data, 'a 1\n')
  assert.equal(terminal.words, '… mind the gap\n✔ done\n  Next:  npx cairn status\n')
})

test('quiet leaves the data, and errors', () => {
  const terminal = new Capture()
  const printer = new Printer(terminal, given('quiet'), 'status')
  printer.outcome(OUTCOME)
  assert.equal(terminal.words, '')
  assert.equal(printer.failure(new CairnError('NotFound', 'Nothing there.', { code: 'no_such_thing' })), 3)
  assert.equal(terminal.words, '✖ Nothing there.\n')
  assert.equal(terminal.data, 'a 1\n')
})

test('with --json everything is in one object, and nothing is said beside it', () => {
  const terminal = new Capture()
  new Printer(terminal, given('json'), 'config print').outcome(OUTCOME)
  const { data: _data, message: _message, ...rest } = OUTCOME
  assert.equal(terminal.data, `${JSON.stringify({ schema: 'cairn.config.print/1', ok: true, ...reordered(rest) })}\n`)
  assert.equal(terminal.words, '')
})

function reordered({ result, warnings, next }: Omit<typeof OUTCOME, 'data' | 'message'>): object {
  return { result, error: null, warnings, next }
}

test('an answer that is no has its data, its screen and the exit code of its error', () => {
  const error = new CairnError('StorageBusy', 'Not ready: storage.', { code: 'not_ready' })
  const plain = new Capture()
  assert.equal(new Printer(plain, given(), 'status').outcome({ ...OUTCOME, error }), 5)
  assert.equal(plain.data, 'a 1\n')
  assert.ok(plain.words.endsWith('✖ Not ready: storage.\n  Next:  npx cairn status\n'), plain.words)
  const json = new Capture()
  assert.equal(new Printer(json, given('json'), 'status').outcome({ ...OUTCOME, error }), 5)
  const { ok, result, error: told } = JSON.parse(json.data) as Record<string, unknown>
  assert.deepEqual([ok, result], [false, { a: 1 }])
  assert.deepEqual(told, { code: 'not_ready', kind: 'StorageBusy', detail: 'Not ready: storage.', exit_code: 5 })
})

test('a defect shows where it happened; what was thrown on purpose does not', () => {
  const terminal = new Capture()
  const printer = new Printer(terminal, given(), 'status')
  printer.failure(new CairnError('Internal', 'Oops.', { cause: new Error('deep') }))
  assert.match(terminal.words, /^✖ Oops\.\nError: deep\n {4}at /)
  const other = new Capture()
  new Printer(other, given(), 'status').failure(new CairnError('Conflict', 'No.', { cause: new Error('deep') }))
  assert.equal(other.words, '✖ No.\n')
})

test('colours are for terminals, and only where nobody declined', () => {
  const shown = (terminal: Capture, ...options: string[]): string => {
    new Printer(terminal, given(...options), 'status').outcome({ result: null, message: 'done' })
    return terminal.words
  }
  assert.equal(shown(new Capture({ isWatched: true })), '\u001B[32m✔\u001B[39m done\n')
  assert.equal(shown(new Capture({ isWatched: true }), 'no-color'), '✔ done\n')
  assert.equal(shown(new Capture({ isWatched: true, environment: { NO_COLOR: '1' } })), '✔ done\n')
  assert.equal(shown(new Capture({ isWatched: false })), '✔ done\n')
})

test('every kind of error has an exit code of the table, and none of them is success', () => {
  const codes = Object.values(EXIT_CODES).map(({ code }) => code)
  for (const kind of Object.keys(ERRORS) as ErrorKind[]) {
    const code = exitCodeOf(new CairnError(kind, 'x'))
    assert.ok(codes.some((known) => known === code) && code !== 0, kind)
  }
})

test('exit codes are what the documentation promises', () => {
  const cases: [ErrorKind, string, number][] = [
    ['Malformed', 'usage', 2],
    ['Malformed', 'config', 2],
    ['Conflict', 'config_refused', 2],
    ['NotFound', 'not_found', 3],
    ['Integrity', 'integrity', 4],
    ['Timeout', 'unreachable', 5],
    ['Conflict', 'cannot_listen', 5],
    ['Conflict', 'data_locked', 5],
    ['Canceled', 'draining', 5],
    ['Timeout', 'timeout', 6],
    ['Busy', 'busy', 6],
    ['Unauthorized', 'token_expired', 7],
    ['Forbidden', 'scope_missing', 7],
    ['Conflict', 'data_foreign', 8],
    ['Malformed', 'InvalidSig', 4],
    ['Malformed', 'NotASigner', 7],
    ['Malformed', 'RevokedKey', 7],
    ['Malformed', 'QuorumFailed', 8],
    ['Conflict', 'DuplicateApproval', 8],
    ['Conflict', 'Expired', 8],
    ['Conflict', 'StaleSignerSet', 8],
    ['ChainMismatch', 'ChainMismatch', 8],
    ['Backpressure', 'NotReady', 5],
    ['NotFound', 'Pruned', 3],
    ['StorageBusy', 'no_space', 1],
    ['Internal', 'internal', 1],
    ['Canceled', 'canceled', 130],
  ]
  for (const [kind, code, exit] of cases) assert.equal(exitCodeOf({ kind, code }), exit, `${kind} ${code}`)
})

test('whatever a person can mend has a next command', () => {
  const place = { command: 'status', args: given(), dataFlag: ' --data d', tokenFile: 'd/admin.token' }
  const codes = ['usage', 'malformed', 'config', 'cannot_listen', 'data_locked', 'data_foreign', 'data_format']
  const ofRegistry = [
    'ChainMismatch',
    'DuplicateApproval',
    'Expired',
    'InvalidSig',
    'NotASigner',
    'NotFound',
    'OwnCheckpoint',
  ]
  codes.push(...ofRegistry, 'QuorumFailed', 'RevokedKey', 'StaleSignerSet', 'key_exists', 'no_key', 'no_name')
  for (const code of [...codes, 'no_space', 'unreachable', 'no_token', 'timeout', ...Object.keys(DENY_REASONS)]) {
    const steps = nextSteps(code, place)
    assert.ok(steps.length > 0, code)
    for (const step of steps) assert.ok(/^(?:npx cairn |df |ls )/.test(step), step)
  }
  assert.deepEqual(nextSteps('unreachable', place), ['npx cairn start --data d'])
  assert.deepEqual(nextSteps('token_expired', place), ['npx cairn token inspect --token-file d/admin.token'])
  assert.deepEqual(nextSteps('usage', { ...place, command: '' }), ['npx cairn --help'])
})

test('what was typed is in the next command, and not a word to be replaced', () => {
  const typed = new CommandArguments(['p_1'], new Map([['data', ['d']]]))
  const place = { args: typed, dataFlag: ' --data d', tokenFile: 'd/admin.token' }
  const early = nextSteps('QuorumFailed', { ...place, command: 'name commit' })
  assert.deepEqual(early, ['npx cairn name approve p_1 --data d --key FILE'])
  const twice = nextSteps('DuplicateApproval', { ...place, command: 'name approve' })
  assert.deepEqual(twice, ['npx cairn name commit p_1 --data d'])
  const got = new CommandArguments(
    ["it's"],
    new Map([
      ['output', ['a b']],
      ['quiet', ['']],
    ]),
  )
  const there = nextSteps('file_exists', { ...place, command: 'get', args: got })
  assert.deepEqual(there, [`npx cairn get 'it'\\''s' --output 'a b' --quiet --force`])
})
