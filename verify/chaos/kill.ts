/**
 * kill -9 on the real disk.
 *
 *     writer opens, loads ─ SIGKILL ─▶ we open what it left, hold it to its words, close ─▶ the next writer goes on
 */
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { leaks, SeededRandom } from '@cairn/kernel/testing'
import { DriveStore } from '@cairn/store'
import { checkPromises } from './promises.ts'
import { realMachine } from './real-machine.ts'
import { LOAD_OPTIONS } from './storage-load.ts'

const WRITER = fileURLToPath(new URL('./kill-writer.ts', import.meta.url))
/** A writer is killed after this many lines at the least, and up to twice as many. */
const LINES_MIN = 40

export interface KillReport {
  readonly kills: number
  readonly promises: number
}

export async function runKills(kills: number, seed: number): Promise<KillReport> {
  const directory = await mkdtemp(join(tmpdir(), 'cairn-kill-'))
  const random = new SeededRandom(seed)
  const marks: string[] = []
  try {
    for (let kill = 1; kill <= kills; kill += 1) {
      marks.push(...(await liveAndDie(directory, seed + kill, LINES_MIN + Math.floor(random.next() * LINES_MIN))))
      await check(directory, marks, kill)
    }
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
  return { kills, promises: marks.filter((mark) => mark.startsWith('ack ')).length }
}

/** Starts a writer, kills it after some lines, and returns all that it said. */
async function liveAndDie(directory: string, seed: number, linesMin: number): Promise<string[]> {
  const writer = spawn(process.execPath, [WRITER, join(directory, 'data'), String(seed)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const closed = Promise.withResolvers<{ code: number | null; signal: string | null }>()
  writer.on('error', closed.reject)
  writer.on('close', (code, signal) => closed.resolve({ code, signal }))
  let text = ''
  writer.stdout.setEncoding('utf8')
  writer.stdout.on('data', (chunk: string) => {
    text += chunk
    if (text.split('\n').length > linesMin) writer.kill('SIGKILL')
  })
  const { code, signal } = await closed.promise
  if (signal !== 'SIGKILL') throw new Error(`The writer ended by itself, with ${String(code)}.`)
  // The last line may be cut; what it says was at most begun.
  return text.split('\n').slice(0, -1)
}

async function check(directory: string, marks: readonly string[], kill: number): Promise<void> {
  const machine = realMachine()
  try {
    const storage = await DriveStore.open(machine, { ...LOAD_OPTIONS, path: join(directory, 'data') })
    await checkPromises(storage, marks)
    await storage.close()
  } catch (cause) {
    throw new Error(`After kill ${kill}: ${String(cause)}`, { cause })
  }
  const left = leaks(machine)
  if (left.length > 0) throw new Error(`After kill ${kill}: left ${left.join(', ')}.`)
}
