import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const RUNNER = fileURLToPath(new URL('test.ts', import.meta.url))
const NO_PROC = existsSync('/proc/self/environ') ? false : 'only where the environments of processes are files'
const TEST = `import { test } from 'node:test'\n`

describe('npm test', () => {
  let root = ''
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'cairn-test-'))
    writeFileSync(join(root, 'package.json'), '{ "type": "module" }')
  })
  afterEach(() => rmSync(root, { recursive: true }))

  function write(path: string, source: string): void {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), source)
  }

  function run(
    words: readonly string[] = [],
    settings: NodeJS.ProcessEnv = {},
  ): { status: number | null; out: string } {
    const { NODE_TEST_CONTEXT: _inherited, CI: _ci, CAIRN_LONG: _long, ...env } = process.env
    const options = { cwd: root, env: { ...env, ...settings }, encoding: 'utf8' } as const
    const { status, stdout } = spawnSync(process.execPath, [RUNNER, ...words], options)
    return { status, out: stdout }
  }

  test('passes and ends with the totals when every test passes', () => {
    write('packages/a/src/one.test.ts', `${TEST}test('one', (t) => t.diagnostic('42 states'))`)
    write('packages/a/src/two.prop.ts', `${TEST}test('two', () => {})`)
    const { status, out } = run()
    assert.equal(status, 0, out)
    assert.match(out, /# 42 states\nok {3}packages\/a {2}2 tests/)
    assert.match(out, /\n2 passed, 0 failed, 0 skipped\n$/)
  })

  test('fails and shows the error when a test fails', () => {
    write('a/one.test.ts', `${TEST}test('adds', () => {\n  throw new Error('one is not two')\n})`)
    const { status, out } = run()
    assert.equal(status, 1)
    assert.match(out, /Failed:\n {2}a\/one\.test\.ts:2 adds\n {4}Error: one is not two/)
    // And at once: a long run need not end before one reads what is wrong.
    assert.match(out, /a\/one\.test\.ts:2 adds\n {4}Error: one is not two[^]*\nFAIL a\/one\.test\.ts {2}1 tests/)
    assert.match(out, /\n0 passed, 1 failed, 0 skipped\n$/)
  })

  test('leaves what needs a browser to who names it, or asks for what is left out', () => {
    write('a/one.test.ts', `${TEST}test('one', () => {})`)
    write('verify/browser/page.test.ts', `${TEST}test('page', () => {})`)
    assert.match(run().out, /\n1 passed, 0 failed, 0 skipped\n$/)
    for (const words of [['verify/browser'], ['--apart']])
      assert.match(run(words).out, /ok {3}verify\/browser\/page\.test\.ts[^]*\n1 passed, 0 failed, 0 skipped\n$/)
  })

  test('counts a failing subtest once', () => {
    const inner = `await t.test('inner', () => {\n  throw new Error('no')\n})`
    write('a/one.test.ts', `${TEST}test('outer', async (t) => {\n  ${inner}\n})`)
    assert.match(run().out, /\n0 passed, 1 failed, 0 skipped\n$/)
  })

  test('fails and shows the error when nobody awaits what fails', () => {
    const late = (fails: string): string =>
      `setImmediate(() => ${fails})\n  await new Promise((resolve) => setTimeout(resolve, 50))`
    write('a/one.test.ts', `${TEST}test('one', async () => {\n  ${late("{ throw new Error('thrown late') }")}\n})`)
    write(
      'a/two.test.ts',
      `${TEST}test('two', async () => {\n  ${late("Promise.reject(new Error('refused late'))")}\n})`,
    )
    const { status, out } = run()
    assert.equal(status, 1)
    assert.match(out, /thrown late/)
    assert.match(out, /refused late/)
    assert.match(out, /\n2 passed, 2 failed, 0 skipped\n$/)
  })

  test('fails when a file cannot be loaded', () => {
    write('a/one.test.ts', `${TEST}test('one', () => {})`)
    write('a/two.test.ts', `throw new Error('broken import')`)
    const { status, out } = run()
    assert.equal(status, 1)
    assert.match(out, /broken import/)
    assert.match(out, /\n1 passed, 1 failed, 0 skipped\n$/)
  })

  test('fails when no test ran', () => {
    const { status, out } = run()
    assert.equal(status, 1)
    assert.match(out, /No test ran/)
  })

  test('fails when a file declares no tests', () => {
    write('a/one.test.ts', `${TEST}test('one', () => {})`)
    write('a/two.test.ts', 'export {}')
    const { status, out } = run()
    assert.equal(status, 1)
    assert.match(out, /a\/two\.test\.ts\n {4}This file declares no tests\./)
  })

  test('says the same of a file that runs with others of its package', () => {
    write('packages/a/src/one.test.ts', `${TEST}test('one', () => {\n  throw new Error('one is not two')\n})`)
    write('packages/a/src/two.test.ts', 'export {}')
    write('packages/a/test/three.test.ts', `throw new Error('broken import')`)
    write('packages/a/test/four.test.ts', `${TEST}test('four', () => {})`)
    const { status, out } = run()
    assert.equal(status, 1)
    assert.match(out, /packages\/a\/src\/one\.test\.ts:2 one\n {4}Error: one is not two/)
    assert.match(out, /packages\/a\/src\/two\.test\.ts\n {4}This file declares no tests\./)
    assert.match(out, /packages\/a\/test\/three\.test\.ts[^]*broken import/)
    assert.match(out, /\n1 passed, 3 failed, 0 skipped\n$/)
  })

  test('runs only the paths it is given, and fails when they hold no test', () => {
    write('a/one.test.ts', `${TEST}test('one', () => {})`)
    write('ab/two.test.ts', `${TEST}test('two', () => {})`)
    assert.match(run(['a']).out, /\n1 passed, 0 failed, 0 skipped\n$/)
    assert.match(run(['./ab/two.test.ts']).out, /two\.test\.ts {2}1 tests.*\n[^]*\n1 passed/)
    assert.equal(run(['b']).status, 1)
  })

  test('lists skips with their reasons', () => {
    write(
      'a/one.test.ts',
      `${TEST}test('one', () => {})\ntest('two', (t) => t.skip('vectors absent'))\ntest.skip('three')`,
    )
    const { status, out } = run()
    assert.equal(status, 0)
    assert.match(
      out,
      /Skipped:\n {2}a\/one\.test\.ts:3 two \(vectors absent\)\n {2}a\/one\.test\.ts:4 three \(no reason given\)/,
    )
    assert.match(out, /\n1 passed, 0 failed, 2 skipped\n$/)
  })

  for (const reason of ['vectors absent', 'tool absent: java', 'published vectors are not here']) {
    test(`in continuous integration a skip for "${reason}" is a failure`, () => {
      write('a/one.test.ts', `${TEST}test('one', () => {})\ntest('two', (t) => t.skip('${reason}'))`)
      const { status, out } = run([], { CI: 'true' })
      assert.equal(status, 1)
      assert.match(out, /\n1 passed, 1 failed, 0 skipped\n$/)
    })
  }

  test('in continuous integration any other skip is only listed', () => {
    write('a/one.test.ts', `${TEST}test('one', () => {})\ntest('two', (t) => t.skip('only on Windows'))`)
    assert.equal(run([], { CI: 'true' }).status, 0)
  })

  test('gives tests a garbage collector to call', () => {
    write('a/one.test.ts', `${TEST}test('collects', () => globalThis.gc())`)
    assert.equal(run().status, 0)
  })

  test('with --long adds the long files, says so to the tests and ends with what they counted', () => {
    write(
      'a/one.test.ts',
      `${TEST}test('one', () => {\n  if (process.env.CAIRN_LONG !== '1') throw new Error('short')\n})`,
    )
    write('a/two.long.ts', `${TEST}test('two', (t) => t.diagnostic('42 cuts'))`)
    assert.equal(run().status, 1)
    const { status, out } = run(['--long'])
    assert.equal(status, 0, out)
    assert.match(out, /\nLong run of \d{4}-\d\d-\d\d: all, node v\d+\.\d+\.\d+, .+\.\n {2}# 42 cuts\n/)
    assert.match(out, /\n2 passed, 0 failed, 0 skipped\n$/)
    // What is written by hand stays as it was.
    assert.equal(existsSync(join(root, 'docs')), false)
  })

  test('gives tests an empty directory and home, and nothing that is set in the shell', () => {
    const looks = [
      `import assert from 'node:assert/strict'`,
      `import { readdirSync } from 'node:fs'`,
      `import { homedir } from 'node:os'`,
      TEST,
      `test('looks', () => {`,
      `  assert.deepEqual([readdirSync('.'), readdirSync(homedir())], [[], []])`,
      `  assert.deepEqual([process.env.CAIRN_DATA, process.env.CAIRN__STORAGE__CHUNK_SIZE, process.env.SECRET], [])`,
      `})`,
    ]
    write('a/one.test.ts', looks.join('\n').replace('], [])', '], [undefined, undefined, undefined])'))
    write('.cairn/format', 'of a node in the clone')
    const settings = { HOME: root, CAIRN_DATA: root, CAIRN__STORAGE__CHUNK_SIZE: '16384', SECRET: 'mine' }
    const { status, out } = run([], settings)
    assert.equal(status, 0, out)
  })

  test('fails a test that hangs, by its name, and runs those after it', () => {
    write(
      'a/one.test.ts',
      `${TEST}test('hangs', () => new Promise(() => {\n  setInterval(() => {}, 1000)\n}))\ntest('runs', () => {})`,
    )
    const { status, out } = run(['--limit', '1'])
    assert.equal(status, 1)
    assert.match(out, /one\.test\.ts:2 hangs\n.*test timed out after 1000ms/)
    assert.match(out, /\n1 passed, 1 failed, 0 skipped\n$/)
  })

  const STARTS = `import { spawn } from 'node:child_process'
${TEST}
const program = 'console.log(process.pid); setInterval(() => {}, 1000)'
const child = spawn(process.execPath, ['-e', program], { detached: true, stdio: ['ignore', 'pipe', 'ignore'], env: {} })`

  test('fails when a test leaves a process behind, and ends it', { skip: NO_PROC }, () => {
    const ends = `test('forgets', async () => {
  const pid = await new Promise((resolve) => child.stdout.once('data', resolve))
  console.log('left ' + pid)
  child.stdout.destroy()
  child.unref()
})`
    write('a/one.test.ts', `${STARTS}\n${ends}`)
    const { status, out } = run()
    assert.equal(status, 1)
    const [, pid] = /left (\d+)/.exec(out) ?? []
    assert.match(out, new RegExp(`Failed:\n  ${pid} .*setInterval.*\n    This process ran on`))
    assert.equal(isAlive(Number(pid)), false)
  })

  test('ends every process of its tests when it is killed itself', { skip: NO_PROC }, async () => {
    write(
      'a/one.test.ts',
      `${STARTS}\ntest('waits', async () => {\n  for await (const part of child.stdout) console.log('started ' + part)\n})`,
    )
    const { NODE_TEST_CONTEXT: _inherited, ...env } = process.env
    const runner = spawn(process.execPath, [RUNNER], { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'] })
    let out = ''
    let pid: string | undefined
    for await (const part of runner.stdout.setEncoding('utf8')) {
      out += part
      pid = /started (\d+)\n/.exec(out)?.[1]
      if (pid !== undefined) runner.kill('SIGKILL')
    }
    assert.ok(pid !== undefined, out)
    // The guard needs a moment; the limit of this test is the limit.
    while (isAlive(Number(pid))) await setTimeout(10)
  })
})

/** One that has ended and is only waiting for its parent to notice has no program any more. */
function isAlive(pid: number): boolean {
  try {
    return readlinkSync(`/proc/${pid}/exe`) !== ''
  } catch {
    return false
  }
}
