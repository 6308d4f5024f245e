/**
 * `npm run check` runs every script named `check:…`, as many at a time as there are cores, and shows what each
 * one had to say; a failure does not hide the others.
 */
import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { REPOSITORY, readManifests } from './repository.ts'

interface Outcome {
  readonly ok: boolean
  readonly output: string
}

function runScript(command: string): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, { cwd: REPOSITORY, shell: true, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    const collect = (chunk: Buffer): void => {
      output += chunk.toString()
    }
    child.stdout.on('data', collect)
    child.stderr.on('data', collect)
    child.on('error', reject)
    child.on('close', (code) => resolve({ ok: code === 0, output }))
  })
}

async function runInTurn(scripts: Iterator<readonly [string, string]>): Promise<void> {
  for (let next = scripts.next(); next.done !== true; next = scripts.next()) {
    const [name, command] = next.value
    const startedAt = performance.now()
    const { ok, output } = await runScript(command)
    const elapsedMs = (performance.now() - startedAt).toFixed(0)
    process.stdout.write(`${ok ? 'ok  ' : 'FAIL'} ${name} (${elapsedMs} ms)\n${ok ? '' : `${output.trimEnd()}\n\n`}`)
    if (!ok) process.exitCode = 1
  }
}

const scripts = Object.entries(readManifests()[0]?.scripts ?? {}).filter(([name]) => name.startsWith('check:'))
if (scripts.length === 0) throw new Error('package.json has no check: scripts.')
const queue = scripts.values()
await Promise.all(Array.from({ length: availableParallelism() }, () => runInTurn(queue)))
