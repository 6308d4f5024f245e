/**
 * Every command of the guides, typed by a shell into an empty directory, in the order it stands there. Each has to
 * succeed; `npm start` goes on beside the others, as in a second terminal.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { freePorts } from '@cairn/platform/testing'
import { samplePack } from '../../cli/test/sample-pack.ts'

const DOCS = new URL('../../docs/', import.meta.url)
const LAUNCHER = fileURLToPath(new URL('../../cli/bin/cairn.js', import.meta.url))
const PORTS = 6
const WAIT_MS = 240_000

/** Pages with a node of their own; what the runbook shows needs one that runs. */
const PAGES: readonly { readonly page: string; readonly first: readonly string[]; readonly last: readonly string[] }[] =
  [
    ...readdirSync(new URL('guides/', DOCS)).map((file) => ({ page: `guides/${file}`, first: [], last: [] })),
    {
      page: 'RUNBOOK.md',
      first: ['npm start', 'npx cairn registry trust -o trust.json', 'npx cairn registry verify --trust trust.json'],
      last: ['npx cairn stop'],
    },
  ]

/** The lines after `$` in its `console` blocks. */
function commandsOf(page: string): readonly string[] {
  const blocks = readFileSync(new URL(page, DOCS), 'utf8').matchAll(/^```console\n([\s\S]*?)^```$/gm)
  return [...blocks].flatMap(([, block = '']) =>
    block.split('\n').flatMap((line) => (line.startsWith('$ ') ? [line.slice(2)] : [])),
  )
}

/** What the shell reads: the commands, with this checkout behind `npx cairn`, on ports that nobody has. */
function scriptOf(commands: readonly string[], portBase: number): string {
  const ported = commands.map((line) =>
    line.replaceAll(/(127\.0\.0\.1|localhost):707(\d)/g, (_, host, last) => `${host}:${portBase + Number(last)}`),
  )
  return [
    'set -e',
    `npx() { shift; ${JSON.stringify(process.execPath)} ${JSON.stringify(LAUNCHER)} "$@"; }`,
    `begin() { npx cairn start --port-base ${portBase} > node.log 2>&1 & until npx cairn status > /dev/null 2>&1; do sleep 0.2; done; }`,
    'npm() { if [ "$1" = start ]; then begin; fi; }',
    // What one service learns of another takes a moment.
    'again() { for try in 1 2 3 4 5 6 7 8 9; do if "$@"; then return 0; fi; sleep 0.5; done; "$@"; }',
    ...ported.flatMap((line) => [
      `echo ${JSON.stringify(`$ ${line}`.replaceAll('$', '\\$').replaceAll('`', '\\`'))} >&2`.replaceAll('\\\\', '\\'),
      eventual(line),
    ]),
  ].join('\n')
}

function eventual(line: string): string {
  if (line.startsWith('npx cairn resolve')) return `again ${line}`
  return /^curl -s (?!.*-o )/.test(line) ? line.replace(/^curl -s/, 'again curl -sf') : line
}

for (const { page, first, last } of PAGES) {
  // Starts programs, as many as a page has commands: longer than a test usually may.
  test(`${page}: every command does what it says`, { timeout: WAIT_MS }, async () => {
    const directory = await mkdtemp(join(tmpdir(), 'cairn-guide-'))
    try {
      await writeFile(
        join(directory, 'world.pmtiles'),
        samplePack(['tile 0', 'tile 1', 'tile 2', 'tile 3', 'tile 4'], 1),
      )
      const script = scriptOf([...first, ...commandsOf(page), ...last], await freePorts(PORTS))
      const shell = spawn('bash', ['-c', script], {
        cwd: directory,
        env: { PATH: process.env['PATH'], HOME: directory },
        stdio: ['ignore', 'pipe', 'pipe'],
        timeout: WAIT_MS,
      })
      const ended = new Promise<number | null>((resolve) => {
        shell.once('exit', resolve)
      })
      const [, said] = await Promise.all([text(shell.stdout), text(shell.stderr)])
      assert.equal(await ended, 0, said)
    } finally {
      await rm(directory, { recursive: true })
    }
  })
}
