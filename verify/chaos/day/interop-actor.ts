/** Sends signed webhooks, puts objects, takes messages out of a mailbox. */
import { createHmac } from 'node:crypto'
import type { Random } from '@cairn/kernel'
import { addressOf } from '@cairn/wire'
import { type Actor, askPatiently, atOnce, isAnswered, type Scene } from './actor.ts'

export const HOOK_SECRET = 'a secret of the day'
export const TOPIC = 'day'
const WORKERS = 3
const PAGE = 1000

interface Leased {
  readonly message: { readonly body: { readonly delivery: string } }
  readonly receipt: { readonly id: string; readonly attempt: number; readonly nonce: string }
}

interface Waiting {
  readonly messages: readonly { readonly id: string; readonly body: { readonly delivery: string } }[]
  readonly next: string | null
}

export class InteropActor implements Actor {
  readonly #scene: Scene
  /** Webhooks whose sender was told 202, and objects likewise; by what they are called. */
  readonly #accepted = new Set<string>()
  readonly #stored = new Set<string>()
  /** An acknowledgement was asked for, or answered. */
  readonly #asked = new Set<string>()
  readonly #acked = new Set<string>()
  /** Sent and never heard of: sent again, under the same delivery. */
  readonly #unheard: string[] = []
  #serial = 0

  constructor(scene: Scene) {
    this.#scene = scene
  }

  async run(): Promise<void> {
    await atOnce(this.#scene, 'interop', WORKERS, async (_worker, random) => {
      const draw = random.next()
      if (draw < 0.4) await this.#send()
      else if (draw < 0.55) await this.#put()
      else await this.#take(random)
    })
  }

  async check(): Promise<string> {
    const here = await this.#waiting()
    for (const name of this.#accepted) {
      const count = here.get(name) ?? 0
      if (count > 1) throw new Error(`${name} waits ${count} times.`)
      if (count === 0 && !this.#asked.has(name)) throw new Error(`${name} was accepted and is lost.`)
      if (count > 0 && this.#acked.has(name)) throw new Error(`${name} was acknowledged and is back.`)
      await this.#mustHold(bodyOf(name))
    }
    for (const name of this.#stored) await this.#mustHold(Buffer.from(name))
    return `interop: ${this.#accepted.size} webhooks accepted, ${this.#acked.size} of them taken, none twice; ${this.#stored.size} objects put`
  }

  async #send(): Promise<void> {
    this.#serial += 1
    const name = this.#unheard.pop() ?? `hook-${this.#serial}`
    const body = bodyOf(name)
    const signature = createHmac('sha256', HOOK_SECRET).update(body).digest('hex')
    const headers = {
      'content-type': 'application/json',
      'x-github-event': 'push',
      'x-github-delivery': name,
      'x-hub-signature-256': `sha256=${signature}`,
    }
    this.#unheard.push(name)
    const answer = await this.#scene.client('interop').ask('POST', '/webhooks/github', { body, headers })
    this.#unheard.splice(this.#unheard.indexOf(name), 1)
    // 200: it came before, and only its answer was lost.
    if (isAnswered(this.#scene, 'interop', 'webhook', answer, [200, 202])) this.#accepted.add(name)
    else this.#unheard.push(name)
  }

  async #put(): Promise<void> {
    this.#serial += 1
    const name = `put ${this.#serial}`
    const answer = await this.#scene.client('interop').ask('POST', '/put', { body: Buffer.from(name) })
    if (isAnswered(this.#scene, 'interop', 'put', answer, [202])) this.#stored.add(name)
  }

  async #take(random: Random): Promise<void> {
    const client = this.#scene.client('interop')
    const leased = await client.ask('POST', `/mailbox/${TOPIC}/lease`)
    if (!isAnswered(this.#scene, 'interop', 'lease', leased, [200, 204]) || leased.status === 204) return
    const { message, receipt } = leased.json() as Partial<Leased> as Leased
    const name = message.body.delivery
    if (this.#acked.has(name)) throw new Error(`${name} was acknowledged and is delivered again.`)
    // Some consumers die.
    if (random.next() < 0.05) return
    this.#asked.add(name)
    const done = await client.ask('POST', `/mailbox/${TOPIC}/${receipt.id}/ack`, { json: receipt })
    if (isAnswered(this.#scene, 'interop', 'ack', done, [204])) this.#acked.add(name)
  }

  async #waiting(): Promise<Map<string, number>> {
    const here = new Map<string, number>()
    for (const list of ['', '/dead']) {
      for (let cursor: string | null = ''; cursor !== null; ) {
        const from: string = cursor === '' ? '' : `&after=${encodeURIComponent(cursor)}`
        const path = `/mailbox/${TOPIC}${list}?limit=${PAGE}${from}`
        const answer = await askPatiently(this.#scene.client('interop'), path)
        const page = answer.json() as Partial<Waiting> as Waiting
        for (const { body } of page.messages) here.set(body.delivery, (here.get(body.delivery) ?? 0) + 1)
        cursor = page.next
      }
    }
    return here
  }

  async #mustHold(bytes: Buffer): Promise<void> {
    const answer = await askPatiently(this.#scene.client('interop'), `/o/${addressOf(bytes)}`)
    if (answer.status !== 200 || !answer.body.equals(bytes))
      throw new Error(`${bytes.toString().slice(0, 60)} was accepted, and storage answers ${answer.status}.`)
  }
}

function bodyOf(name: string): Buffer {
  return Buffer.from(
    JSON.stringify({ name, commits: Array.from({ length: 3 }, (_each, at) => `${name} commit ${at}`) }),
  )
}
