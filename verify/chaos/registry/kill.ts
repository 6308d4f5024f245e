/**
 * kill -9 of a registry on the real disk, again and again on one directory: at the named points of a commit, of a
 * checkpoint and of a prune, and at random moments.
 *
 *     process loads ─ SIGKILL ─▶ we open what it left, hold it to all it ever said, close ─▶ the next process goes on
 */
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { SeededRandom } from '@cairn/kernel/testing'
import type { CrashPoint } from '../../../services/registry/src/domain/crash-points.ts'
import { openRealLife } from './real-life.ts'
import { decodeMark, type Mark } from './registry-marks.ts'
import { holdToPromises } from './registry-promises.ts'

/** What the processes compile, for the next ones. */
const CACHE = join(tmpdir(), 'cairn-kill-registry-cache')
const PROCESS = fileURLToPath(new URL('./kill-registry.ts', import.meta.url))
/** Lines after which a process is killed where no point is wanted: at least, and up to four times as many. */
const LINES_MIN = 30
/** A process that never gets to its point is killed after as many. */
const LINES_MAX = 1_000

export interface KillReport {
  readonly kills: number
  /** How many kills came at each point; the rest at random moments. */
  readonly at: ReadonlyMap<string, number>
  readonly marks: number
  readonly versions: number
  /** Kills after which a commit under way was found durable. */
  readonly ahead: number
}

/** One kill for each plan, a point or nothing for a random moment, as far as there is time. */
export async function runKills(
  plans: readonly (CrashPoint | undefined)[],
  seed: number,
  budgetMs = Number.POSITIVE_INFINITY,
): Promise<KillReport> {
  const beganAt = performance.now()
  const directory = await mkdtemp(join(tmpdir(), 'cairn-kill-registry-'))
  const data = join(directory, 'data')
  const random = new SeededRandom(seed)
  const marks: Mark[] = []
  const at = new Map<string, number>()
  const report = { kills: 0, ahead: 0, versions: 0 }
  try {
    for (const point of plans) {
      if (performance.now() - beganAt > budgetMs) break
      report.kills += 1
      const lines = await liveAndDie(data, seed + report.kills, point, LINES_MIN * (1 + 3 * random.next()))
      const reached = lines.find((line) => line.startsWith('reached '))?.slice('reached '.length) ?? 'a random moment'
      at.set(reached, (at.get(reached) ?? 0) + 1)
      marks.push(...lines.flatMap((line) => decodeMark(line) ?? []))
      const held = await check(data, marks, `kill ${report.kills}, at ${reached}, seed ${seed}`)
      report.ahead += held.isAhead ? 1 : 0
      report.versions = held.version
    }
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
  return { ...report, at, marks: marks.length }
}

async function liveAndDie(data: string, seed: number, point: string | undefined, linesMin: number): Promise<string[]> {
  const program = spawn(process.execPath, [PROCESS, data, String(seed), point ?? ''], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_COMPILE_CACHE: CACHE },
  })
  const closed = Promise.withResolvers<{ code: number | null; signal: string | null }>()
  program.on('error', closed.reject)
  program.on('close', (code, signal) => closed.resolve({ code, signal }))
  let text = ''
  program.stdout.setEncoding('utf8')
  program.stdout.on('data', (chunk: string) => {
    text += chunk
    if (text.split('\n').length > (point === undefined ? linesMin : LINES_MAX)) program.kill('SIGKILL')
  })
  const { code, signal } = await closed.promise
  if (signal !== 'SIGKILL') throw new Error(`The process ended by itself, with ${String(code)}.`)
  // The last line may be cut; what it says was at most asked.
  return text.split('\n').slice(0, -1)
}

async function check(data: string, marks: Mark[], where: string): Promise<{ isAhead: boolean; version: number }> {
  try {
    const life = await openRealLife(data, (mark) => void marks.push(mark))
    const held = await holdToPromises(life, marks)
    await life.stop()
    return held
  } catch (cause) {
    throw new Error(`After ${where}: ${String(cause)}`, { cause })
  }
}

export function tell({ kills, at, marks, versions, ahead }: KillReport): string {
  const points = [...at].map(([point, count]) => `${point} ${count}`).join(', ')
  return `${kills} kills (${points}), held to ${marks} answers and signatures, ${versions} versions; ${ahead} times a commit under way was durable`
}
