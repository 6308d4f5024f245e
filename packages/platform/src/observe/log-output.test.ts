import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { CairnError } from '@cairn/kernel'
import { VirtualClock } from '@cairn/kernel/testing'
import { fileDestination, type LogDestination, type LogFormat, LogOutput } from './log-output.ts'

class Lines implements LogDestination {
  text = ''
  dropped = 0

  write(line: string): void {
    this.text += line
  }
  takeDropped(): number {
    const count = this.dropped
    this.dropped = 0
    return count
  }
  close(): void {}

  parsed(): Record<string, unknown>[] {
    return this.text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
  }
}

function output(
  format: LogFormat,
  level: 'debug' | 'info' = 'info',
): { lines: Lines; log: LogOutput; clock: VirtualClock } {
  const lines = new Lines()
  const clock = new VirtualClock(Date.UTC(2026, 0, 2, 3, 4, 5, 6))
  return { lines, clock, log: new LogOutput({ destination: lines, format, level, clock }) }
}

test('a JSON line has level, time, service, fields and message', () => {
  const { lines, log } = output('json')
  log.service('storage').info({ corr_id: 'c1', count: 2 }, 'object stored')
  assert.deepEqual(lines.parsed(), [
    {
      level: 'info',
      ts: '2026-01-02T03:04:05.006Z',
      service: 'storage',
      corr_id: 'c1',
      count: 2,
      message: 'object stored',
    },
  ])
})

test('a text line is one line for a person', () => {
  const { lines, log } = output('text')
  log.service('edge').warn({ route: '/a', note: 'two words', list: [1] }, 'slow\tfill')
  assert.equal(lines.text, '03:04:05.006 warn  edge     slow\tfill route=/a note="two words" list=[1]\n')
})

test('lines below the level are not written, and the level can change while running', () => {
  const { lines, log } = output('json')
  const storage = log.service('storage')
  storage.debug({}, 'hidden')
  log.setLevel('debug')
  storage.debug({}, 'shown')
  log.setLevel('error')
  storage.warn({}, 'hidden')
  storage.error({}, 'shown')
  assert.deepEqual(
    lines.parsed().map(({ message }) => message),
    ['shown', 'shown'],
  )
})

test('credentials are redacted by the name of the field and by their look, at any depth, in both formats', () => {
  for (const format of ['json', 'text'] as const) {
    const { lines, log } = output(format)
    log.service('node').error(
      {
        authorization: 'Bearer abcdefghijkl',
        headers: { Cookie: 'sid=abcdefghijkl', accept: '*/*' },
        admin_token: 'abcdefghijkl',
        tokens_left: 3,
        line: 'GET / with Macaroon abcdefghijkl failed',
        url: new URL('https://user:abcdefghijkl@host.example/p?key=abcdefghijkl'),
        bytes: new TextEncoder().encode('abcdefghijkl'),
        error: new CairnError('Malformed', 'Header was Bearer abcdefghijkl', {
          cause: new Error('Capability abcdefghijkl'),
        }),
      },
      'refused Bearer abcdefghijkl',
    )
    assert.ok(!lines.text.includes('abcdefghijkl'), lines.text)
    assert.ok(lines.text.includes('tokens_left'))
    assert.ok(lines.text.includes('https://host.example/p'))
    assert.equal(lines.text.trimEnd().split('\n').length, 1)
  }
})

test('an error is written with its kind, code, message, stack and cause', () => {
  const { lines, log } = output('json')
  const cause = Object.assign(new Error('no space'), { code: 'ENOSPC' })
  log
    .service('storage')
    .error({ error: new CairnError('StorageBusy', 'The disk is full.', { code: 'disk_full', cause }) }, 'x')
  const error = lines.parsed()[0]!['error'] as Record<string, unknown>
  assert.equal(error['kind'], 'StorageBusy')
  assert.equal(error['code'], 'disk_full')
  assert.equal(error['message'], 'The disk is full.')
  assert.match(String(error['stack']), /log-output\.test/)
  assert.equal((error['cause'] as Record<string, unknown>)['code'], 'ENOSPC')
})

test('values without an end, or that JSON cannot hold, do not break a line', () => {
  const { lines, log } = output('json')
  const circle: Record<string, unknown> = { big: 10n, call: () => 1, date: new Date(Number.NaN) }
  circle['self'] = circle
  log.service('node').info({ circle, long: 'x'.repeat(100_000), many: Array.from({ length: 1000 }, () => 0) }, 'odd')
  assert.ok(lines.text.length < 20_000)
  assert.equal(lines.parsed()[0]!['message'], 'odd')
})

test('dropped lines are said once per five seconds, with how many', async () => {
  const { lines, log, clock } = output('json')
  const service = log.service('edge')
  lines.dropped = 3
  service.info({}, 'a')
  lines.dropped = 2
  service.info({}, 'b')
  await clock.run(5000)
  lines.dropped = 1
  service.info({}, 'c')
  const warnings = lines.parsed().filter(({ level }) => level === 'warn')
  assert.deepEqual(
    warnings.map(({ count }) => count),
    [3, 3],
  )
})

test('closing writes what is buffered', () => {
  const directory = mkdtempSync(join(tmpdir(), 'cairn-log-'))
  try {
    const path = join(directory, 'log')
    const descriptor = openSync(path, 'w')
    const destination = fileDestination(descriptor)
    const log = new LogOutput({ destination, format: 'json', level: 'info', clock: new VirtualClock() })
    for (let line = 0; line < 100; line += 1) log.service('node').info({ line }, 'written')
    log.close()
    assert.equal(readFileSync(path, 'utf8').trimEnd().split('\n').length, 100)
  } finally {
    rmSync(directory, { recursive: true })
  }
})

const SCRIPT = `
  const { standardError } = await import(${JSON.stringify(new URL('./log-output.ts', import.meta.url).href)})
  standardError().write('the last line\\n')
`

for (const [ending, code] of [
  ['ends by itself', ''],
  ['exits', 'process.exit(3)'],
  ['throws', 'throw new Error()'],
] as const)
  test(`a line waits for others no longer than the process lives: it ${ending}`, () => {
    const { stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', SCRIPT + code], { encoding: 'utf8' })
    assert.match(stderr, /^the last line$/m)
  })

test('a line that no other follows is written soon', async () => {
  const code = `${SCRIPT}; setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'ignore', 'pipe'] })
  try {
    const [line] = (await once(child.stderr, 'data', { signal: AbortSignal.timeout(60_000) })) as [Buffer]
    assert.equal(String(line), 'the last line\n')
  } finally {
    child.kill('SIGKILL')
  }
})
