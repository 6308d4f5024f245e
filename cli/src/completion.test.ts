import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Capture } from '../test/capture.ts'
import { main } from './main.ts'
import { COMMON_OPTIONS } from './shared-options.ts'
import { COMMANDS } from './table.ts'

async function script(shell: string): Promise<string> {
  const terminal = new Capture()
  assert.equal(await main(['completion', shell], terminal), 0)
  return terminal.data
}

/** What bash would offer for the last of these words. */
function offered(bash: string, words: readonly string[]): string[] {
  const array = words.map((word) => `'${word}'`).join(' ')
  const run = `${bash}\nCOMP_WORDS=(${array}); COMP_CWORD=${words.length - 1}; _cairn; printf '%s\\n' "\${COMPREPLY[@]}"`
  return execFileSync('bash', ['-c', run], { encoding: 'utf8' })
    .split('\n')
    .filter((word) => word !== '')
}

function isAbsent(tool: string): boolean {
  return spawnSync(tool, ['--version']).error !== undefined
}

test('bash completes commands, verbs, options, choices, and leaves files to the shell', async (t) => {
  if (isAbsent('bash')) {
    t.skip('tool absent: bash')
    return
  }
  const bash = await script('bash')
  const cases: [string[], string[]][] = [
    [
      ['cairn', 'sta'],
      ['start', 'status'],
    ],
    [
      ['cairn', 'token', ''],
      ['mint', 'attenuate', 'inspect', 'rotate', 'reset', 'revoke'],
    ],
    [['cairn', 'config', 'pr'], ['print']],
    [['cairn', 'start', '--a'], ['--amnesia']],
    [['cairn', 'token', 'mint', '--for', 'st'], ['storage']],
    [['cairn', '--data', 'here', 'sto'], ['stop']],
    [
      ['cairn', '-q', 'completion', ''],
      ['bash', 'zsh', 'fish', ...COMMON_OPTIONS.map(({ name }) => `--${name}`)],
    ],
    [['cairn', 'start', '--config', ''], []],
    [['cairn', 'nonsense', ''], []],
  ]
  for (const [words, expected] of cases) assert.deepEqual(offered(bash, words), expected, words.join(' '))
})

test('each script names every command and every option', async () => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    const text = await script(shell)
    for (const { name, options } of COMMANDS) {
      for (const word of name.split(' ')) assert.ok(text.includes(word), `${shell}: ${word}`)
      for (const option of [...options, ...COMMON_OPTIONS])
        assert.ok(text.includes(`${shell === 'fish' ? '-l ' : '--'}${option.name}`), `${shell}: ${option.name}`)
    }
  }
})

for (const shell of ['zsh', 'fish']) {
  test(`${shell} reads its script without complaint`, async (t) => {
    if (isAbsent(shell)) {
      t.skip(`tool absent: ${shell}`)
      return
    }
    const directory = mkdtempSync(join(tmpdir(), 'cairn-completion-'))
    try {
      const path = join(directory, `cairn.${shell}`)
      writeFileSync(path, await script(shell))
      execFileSync(shell, ['-n', path])
    } finally {
      rmSync(directory, { recursive: true })
    }
  })
}
