/**
 * Senders and consumers, all at once, and what they saw, as marks:
 *
 *     sent N ─▶ accepted N | (nothing)        leased TOPIC N ID ATTEMPT ─▶ ack TOPIC N ID ─▶ acked TOPIC N ID
 */
import { type Random } from '@cairn/kernel'
import { SeededRandom } from '@cairn/kernel/testing'
import { AUTHORIZED, type InteropLife, signed, TOPICS } from './interop-life.ts'

export type MarkSink = (mark: string) => void

export interface Load {
  readonly life: InteropLife
  readonly mark: MarkSink
  readonly random: Random
  readonly senders: number
  readonly consumers: number
  readonly stepsEach: number
  /** Makes the names of this life's webhooks different from those of others. */
  readonly prefix: string
  readonly pause: (ms: number) => Promise<void>
}

const PAUSE_MS_MAX = 4
/** Small enough that old segments go during a campaign. */
const KEEP_BYTES = 24 * 1024
const KEEP_MS = 20

export function bodyOf(name: string): string {
  return JSON.stringify({ name, commits: Array.from({ length: 3 }, (_each, at) => `${name} commit ${at}`) })
}

export async function runLoad(load: Load): Promise<void> {
  const seeds = new SeededRandom(Math.floor(load.random.next() * 2 ** 32))
  const each = (): Random => new SeededRandom(Math.floor(seeds.next() * 2 ** 32))
  const clients = Promise.all([
    ...Array.from({ length: load.senders }, async (_each, at) => await send(load, each(), at)),
    ...Array.from({ length: load.consumers }, async (_each, at) => await consume(load, each(), at)),
  ])
  const state = { isOver: false }
  const over = clients.finally(() => {
    state.isOver = true
  })
  await Promise.all([over, keep(load, () => state.isOver)])
}

async function send({ life, mark, stepsEach, prefix, pause }: Load, random: Random, at: number): Promise<void> {
  const names: string[] = []
  for (let step = 0; step < stepsEach; step += 1) {
    // Now and then one that came before, under a new delivery id.
    const old = random.next() < 0.25 ? names[Math.floor(random.next() * names.length)] : undefined
    const name = old ?? `${prefix}-${at}-${step}`
    if (old === undefined) names.push(name)
    mark(`sent ${name}`)
    const body = bodyOf(name)
    const answer = await life.ask('POST', '/webhooks/github', body, signed(body, `${name}/${step}`))
    if (answer.status === 202) mark(`accepted ${name}`)
    await pause(random.next() * PAUSE_MS_MAX)
  }
}

interface Leased {
  readonly message: { readonly id: string; readonly body: { readonly delivery: string } }
  readonly receipt: { readonly id: string; readonly attempt: number; readonly nonce: string }
}

async function consume({ life, mark, stepsEach, pause }: Load, random: Random, at: number): Promise<void> {
  const topic = TOPICS[at % TOPICS.length] ?? 'builds'
  for (let step = 0; step < stepsEach; step += 1) {
    await pause(random.next() * PAUSE_MS_MAX)
    const answer = await life.ask('POST', `/mailbox/${topic}/lease`, undefined, AUTHORIZED)
    if (answer.status !== 200) continue
    const { message, receipt } = answer.fields() as Partial<Leased> as Leased
    const name = message.body.delivery.split('/')[0] ?? ''
    mark(`leased ${topic} ${name} ${receipt.id} ${receipt.attempt}`)
    const draw = random.next()
    // Some consumers die, some give back.
    if (draw < 0.1) continue
    const verb = draw < 0.2 ? 'nack' : 'ack'
    if (verb === 'ack') mark(`ack ${topic} ${name} ${receipt.id}`)
    const headers = [...AUTHORIZED, 'content-type', 'application/json']
    const done = await life.ask('POST', `/mailbox/${topic}/${receipt.id}/${verb}`, JSON.stringify(receipt), headers)
    if (verb === 'ack' && done.status === 204) mark(`acked ${topic} ${name} ${receipt.id}`)
  }
}

/** Lets go of old segments all the time, as the service does now and then. */
async function keep({ life, pause }: Load, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    await pause(KEEP_MS)
    await life.parts.ledger.trim(KEEP_BYTES).catch(() => undefined)
  }
}
