/**
 * kill -9 of interop on the real disk, again and again on one directory, at 200 webhooks a second.
 *
 *     we send ─▶ process under load ─ SIGKILL at a random moment ─▶ the next process goes on
 *     a consumer, in a process of its own that outlives them all, takes the messages and keeps the ledger
 *
 * In the end: every 202 was delivered, every webhook became one message in each topic, none that was acknowledged came
 * again, and none exists that nobody sent.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { SeededRandom } from '@cairn/kernel/testing'
import { signed, TOPICS } from './interop-life.ts'
import { bodyOf } from './interop-load.ts'

const PROCESS = fileURLToPath(new URL('./kill-interop.ts', import.meta.url))
const CONSUMER = fileURLToPath(new URL('./consumer.ts', import.meta.url))
const PER_SECOND = 200
const LIFE_MS_MIN = 150
const LIFE_MS_SPREAD = 500
/** However slow the machine is, a life is worth a kill only once it has promised something. */
const ACCEPTED_EACH = 11
const SENT_MAX = 4_000
/** One in so many is sent a second time. */
const AGAIN_EVERY = 5
/** Longer than a lease of the last life. */
const QUIET_MS = 2_500
const QUIET_TRIES = 40

export interface KillReport {
  readonly kills: number
  readonly sent: number
  readonly accepted: number
  readonly delivered: number
  /** Delivered although their sender never heard of a 202. */
  readonly ahead: number
}

interface Ledger {
  readonly sent: Set<string>
  readonly accepted: Set<string>
  readonly lines: string[]
}

export async function runKills(kills: number, seed: number): Promise<KillReport> {
  const directory = await mkdtemp(join(tmpdir(), 'cairn-kill-interop-'))
  const random = new SeededRandom(seed)
  const ledger: Ledger = { sent: new Set(), accepted: new Set(), lines: [] }
  const consumer = spawn(process.execPath, [CONSUMER], { stdio: ['pipe', 'pipe', 'inherit'] })
  createInterface({ input: consumer.stdout }).on('line', (line) => void ledger.lines.push(line))
  try {
    for (let kill = 1; kill <= kills; kill += 1) {
      const life = await begin(join(directory, 'data'), consumer)
      await sendFor(LIFE_MS_MIN + random.next() * LIFE_MS_SPREAD, life.url, ledger, random, kill)
      await end(life.program)
    }
    const last = await begin(join(directory, 'data'), consumer)
    await untilQuiet(ledger)
    await end(last.program)
  } finally {
    await end(consumer)
    await rm(directory, { recursive: true, force: true })
  }
  return { kills, ...judge(ledger) }
}

async function begin(data: string, consumer: ChildProcess): Promise<{ program: ChildProcess; url: string }> {
  const program = spawn(process.execPath, [PROCESS, data], { stdio: ['ignore', 'pipe', 'inherit'] })
  for await (const line of createInterface({ input: program.stdout })) {
    if (!line.startsWith('open ')) continue
    const url = new URL('/', line.slice('open '.length)).href
    consumer.stdin?.write(`${url}\n`)
    return { program, url }
  }
  throw new Error('Interop ended before it was open.')
}

async function end(program: ChildProcess): Promise<void> {
  if (program.exitCode !== null || program.signalCode !== null) return
  const gone = Promise.withResolvers<void>()
  program.on('exit', () => gone.resolve())
  program.kill('SIGKILL')
  await gone.promise
}

/** Sends at the rate until the time is over, and leaves answers that have not come to themselves. */
async function sendFor(ms: number, url: string, ledger: Ledger, random: SeededRandom, life: number): Promise<void> {
  const names = [...ledger.sent]
  const enough = ledger.accepted.size + ACCEPTED_EACH
  const isLong = (step: number): boolean => step >= (ms * PER_SECOND) / 1000 && ledger.accepted.size >= enough
  for (let step = 0; step < SENT_MAX && !isLong(step); step += 1) {
    const old = step % AGAIN_EVERY === 0 ? names[Math.floor(random.next() * names.length)] : undefined
    const name = old ?? `life${life}-${step}`
    ledger.sent.add(name)
    send(url, name, `${name}/${life}-${step}`, ledger).catch(() => undefined)
    await wait(1000 / PER_SECOND)
  }
}

async function send(url: string, name: string, delivery: string, { accepted }: Ledger): Promise<void> {
  const body = bodyOf(name)
  const fields = signed(body, delivery)
  const headers: Record<string, string> = { 'content-type': 'application/json' }
  for (let at = 0; at < fields.length; at += 2) headers[fields[at] ?? ''] = fields[at + 1] ?? ''
  const answer = await fetch(`${url}webhooks/github`, { method: 'POST', headers, body })
  await answer.body?.cancel()
  if (answer.status === 202) accepted.add(name)
}

/** Nothing has been delivered for longer than a lease lasts, and every 202 has. */
async function untilQuiet(ledger: Ledger): Promise<void> {
  for (let tries = 0; tries < QUIET_TRIES; tries += 1) {
    const before = ledger.lines.length
    await wait(QUIET_MS)
    if (ledger.lines.length === before) return
  }
}

function judge({ sent, accepted, lines }: Ledger): Omit<KillReport, 'kills'> {
  const ids = new Map<string, Set<string>>()
  const acked = new Set<string>()
  for (const line of lines) {
    const [verb, topic, name, id = ''] = line.split(' ')
    const key = `${topic} ${name}`
    if (!sent.has(name ?? '')) throw new Error(`${key} was delivered and nobody sent it.`)
    if (verb === 'acked') acked.add(key)
    else if (acked.has(key)) throw new Error(`${key} was acknowledged and came again.`)
    else ids.set(key, (ids.get(key) ?? new Set()).add(id))
  }
  for (const [key, each] of ids) if (each.size > 1) throw new Error(`${key} exists ${each.size} times.`)
  for (const name of accepted) {
    for (const topic of TOPICS) {
      if (!ids.has(`${topic} ${name}`)) throw new Error(`${topic} ${name} was answered 202 and never delivered.`)
    }
  }
  const delivered = new Set([...ids.keys()].map((key) => key.split(' ')[1] ?? ''))
  const ahead = [...delivered].filter((name) => !accepted.has(name)).length
  return { sent: sent.size, accepted: accepted.size, delivered: delivered.size, ahead }
}

export function tell({ kills, sent, accepted, delivered, ahead }: KillReport): string {
  return `${kills} kills, ${sent} webhooks sent, ${accepted} answered 202, ${delivered} delivered, ${ahead} of them unheard`
}
