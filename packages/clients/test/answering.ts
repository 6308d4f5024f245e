/** A service that gives each request the next of its answers, and keeps what it was asked. */
import assert from 'node:assert/strict'
import { Breakers, Deadline, isKind } from '@cairn/kernel'
import { virtualRuntime } from '@cairn/kernel/testing'
import type { IncomingResponse, OutgoingRequest, Transport } from '@cairn/transport'
import type { Scope } from '@cairn/wire'
import { type CallContext, Caller } from '../src/caller.ts'

export interface Answer {
  readonly status: number
  /** Text as it is, nothing for none, anything else as JSON. */
  readonly body?: unknown
}

class Answering implements Transport {
  readonly requests: OutgoingRequest[] = []
  readonly #answers: readonly Answer[]

  constructor(answers: readonly Answer[]) {
    this.#answers = answers
  }

  async request(request: OutgoingRequest): Promise<IncomingResponse> {
    const answer = this.#answers[Math.min(this.requests.length, this.#answers.length - 1)]!
    this.requests.push(request)
    const text = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body ?? '')
    const bytes = answer.body === undefined ? [] : [new TextEncoder().encode(text)]
    async function* body(): AsyncGenerator<Uint8Array> {
      yield* bytes
    }
    const type = answer.status >= 400 ? 'application/problem+json' : 'application/json'
    const whole = { [Symbol.asyncIterator]: body, cancel: () => {} }
    return await Promise.resolve({ status: answer.status, headers: { 'content-type': type }, body: whole })
  }

  async close(): Promise<void> {}
}

export interface Asked<T> {
  readonly value: T
  /** Method, path and query of every request. */
  readonly lines: readonly string[]
  readonly requests: readonly OutgoingRequest[]
}

/** Lets `use` ask; afterwards nothing is left open. */
export async function ask<Client, T>(
  build: (caller: Caller) => Client,
  scopes: readonly Scope[],
  answers: readonly Answer[],
  use: (client: Client, context: CallContext) => Promise<T>,
): Promise<Asked<T>> {
  const transport = new Answering(answers)
  const runtime = virtualRuntime()
  const breakers = new Breakers(runtime)
  const grant = { scopes, bearer: async () => await Promise.resolve('tok.en') }
  const base = new URL('http://peer.example:7070/')
  const client = build(new Caller({ runtime, transport, base, target: 'peer', breakers, grant }))
  const asked = use(client, { deadline: Deadline.after(runtime.clock, 60_000) })
  // Retries wait on the virtual clock.
  const [value] = await Promise.all([asked.catch((error: unknown) => error), runtime.clock.run(120_000)])
  breakers.close()
  assert.deepEqual([runtime.topology.size, runtime.clock.pending()], [0, 0])
  if (value instanceof Error) throw value
  const { requests } = transport
  const lines = requests.map(({ method, url }) => `${method} ${url.pathname}${url.search}`)
  return { value: value as T, lines, requests }
}

export function bodyOf({ body }: OutgoingRequest): unknown {
  return body instanceof Uint8Array ? (JSON.parse(new TextDecoder().decode(body)) as unknown) : undefined
}

export function isBadAnswer(error: unknown): boolean {
  assert.ok(isKind(error, 'Internal') && error.code === 'bad_answer', String(error))
  return true
}
