import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Breakers, CairnError, Deadline, type ErrorKind, isKind } from '@cairn/kernel'
import { type VirtualRuntime, virtualRuntime } from '@cairn/kernel/testing'
import type { IncomingResponse, OutgoingRequest, Transport } from '@cairn/transport'
import { isCorrelationId } from '@cairn/wire'
import { type Call, Caller, NO_SCOPES, type ScopeGrant } from './caller.ts'
import { readText } from './response-body.ts'

type Reply = IncomingResponse | CairnError

/** Answers in turn; the last answer stays. */
class ScriptedTransport implements Transport {
  readonly requests: OutgoingRequest[] = []
  readonly #replies: readonly Reply[]

  constructor(...replies: readonly Reply[]) {
    this.#replies = replies
  }

  async request(request: OutgoingRequest): Promise<IncomingResponse> {
    const reply = this.#replies[Math.min(this.requests.length, this.#replies.length - 1)]!
    this.requests.push(request)
    if (reply instanceof CairnError) throw reply
    return reply
  }

  async close(): Promise<void> {}
}

function answer(status: number, text = '', headers: Record<string, string> = {}): IncomingResponse {
  const bytes = new TextEncoder().encode(text)
  async function* parts(): AsyncGenerator<Uint8Array> {
    yield bytes
  }
  return { status, headers, body: { [Symbol.asyncIterator]: parts, cancel: () => {} } }
}

function problem(status: number, code: string, more: Record<string, unknown> = {}): IncomingResponse {
  const body = { type: 'x', title: 'x', status, detail: `It is ${code}.`, code, corr_id: 'c', ...more }
  return answer(status, JSON.stringify(body), { 'content-type': 'application/problem+json; charset=utf-8' })
}

interface World {
  readonly runtime: VirtualRuntime
  readonly breakers: Breakers
  readonly caller: Caller
  call(call?: Partial<Call<string>>, context?: { ms?: number; corrId?: string; signal?: AbortSignal }): Promise<string>
}

function world(transport: Transport, grant: ScopeGrant = NO_SCOPES, base = 'http://peer.example:7071/'): World {
  const runtime = virtualRuntime()
  const breakers = new Breakers(runtime)
  const caller = new Caller({ runtime, transport, base: new URL(base), target: 'storage', breakers, grant })
  return {
    runtime,
    breakers,
    caller,
    call: async (call = {}, { ms = 2000, ...context } = {}) => {
      const result = caller.call(
        {
          operation: 'look',
          method: 'GET',
          path: 'o/x',
          idempotent: true,
          read: async (r) => await readText(r, 1000),
          ...call,
        },
        { deadline: Deadline.after(runtime.clock, ms), ...context },
      )
      // Retries wait on the virtual clock.
      const [value] = await Promise.all([result.catch((error: unknown) => error), runtime.clock.run(10_000)])
      breakers.close()
      assert.equal(runtime.topology.size, 0)
      assert.equal(runtime.clock.pending(), 0)
      if (value instanceof Error) throw value
      return value as string
    },
  }
}

function isError(kind: ErrorKind, code: string, status?: number): (error: unknown) => boolean {
  return (error) => {
    assert.ok(isKind(error, kind), String(error))
    assert.equal(error.code, code)
    if (status !== undefined) assert.equal(error.status, status)
    return true
  }
}

test('a call carries what is left of the budget and the correlation id it was given', async () => {
  const transport = new ScriptedTransport(answer(200, 'here'))
  const corrId = '01ARZ3NDEKTSV4RRFFQ69G5FAV'
  assert.equal(await world(transport).call({}, { ms: 1500, corrId }), 'here')
  const [request] = transport.requests
  assert.equal(request!.url.href, 'http://peer.example:7071/o/x')
  assert.equal(request!.headers['request-timeout'], '1490ms')
  assert.equal(request!.headers['x-corr-id'], corrId)
  assert.equal(request!.headers['authorization'], undefined)
})

test('a call that starts something new gets a correlation id of its own, the same for every try', async () => {
  const transport = new ScriptedTransport(new CairnError('Timeout', 'gone', { code: 'unreachable' }), answer(200))
  await world(transport).call()
  const ids = new Set(transport.requests.map(({ headers }) => headers['x-corr-id']))
  assert.equal(transport.requests.length, 2)
  assert.equal(ids.size, 1)
  assert.ok(isCorrelationId([...ids][0]!))
})

test('the budget forwarded shrinks with every try', async () => {
  const transport = new ScriptedTransport(
    new CairnError('Timeout', 'slow'),
    new CairnError('Timeout', 'slow'),
    answer(200),
  )
  await world(transport).call()
  const budgets = transport.requests.map(({ headers }) => Number.parseInt(headers['request-timeout']!, 10))
  assert.equal(budgets.length, 3)
  assert.ok(budgets[0]! > budgets[1]! && budgets[1]! > budgets[2]!)
})

test('only what is idempotent is tried again', async () => {
  const transport = new ScriptedTransport(new CairnError('Timeout', 'slow'), answer(200))
  await assert.rejects(world(transport).call({ idempotent: false, method: 'POST' }), isError('Timeout', 'timeout'))
  assert.equal(transport.requests.length, 1)
})

test('an answer that says no is not asked again', async () => {
  for (const [status, code] of [
    [404, 'not_found'],
    [409, 'referenced'],
    [401, 'token_expired'],
    [400, 'malformed'],
  ] as const) {
    const transport = new ScriptedTransport(problem(status, code))
    await assert.rejects(world(transport).call())
    assert.equal(transport.requests.length, 1, code)
  }
})

test('the other side says when to come back, and that is when it is asked again', async () => {
  const transport = new ScriptedTransport(problem(429, 'busy', { retry_after: 1 }), answer(200, 'now'))
  assert.equal(await world(transport).call(), 'now')
  const budget = Number.parseInt(transport.requests[1]!.headers['request-timeout']!, 10)
  assert.ok(budget <= 990, String(budget))
})

test('a wait past the deadline is not begun', async () => {
  const transport = new ScriptedTransport(problem(503, 'draining', { retry_after: 5 }))
  await assert.rejects(world(transport).call(), isError('Backpressure', 'draining', 503))
  assert.equal(transport.requests.length, 1)
})

test('a scope that was not granted is refused before anything is sent; one that was is proved by the token', async () => {
  const transport = new ScriptedTransport(answer(200))
  const grant: ScopeGrant = { scopes: ['storage:write'], bearer: async () => 'tok.en' }
  await assert.rejects(
    world(transport, grant).call({ scope: 'storage:delete' }),
    isError('Forbidden', 'scope_not_granted'),
  )
  await assert.rejects(world(transport).call({ scope: 'storage:write' }), isError('Forbidden', 'scope_not_granted'))
  assert.equal(transport.requests.length, 0)
  await world(transport, grant).call({ scope: 'storage:write' })
  assert.equal(transport.requests[0]!.headers['authorization'], 'Bearer tok.en')
  await world(transport, grant).call()
  assert.equal(transport.requests[1]!.headers['authorization'], undefined)
})

test('a problem is the error it was on the other side', async () => {
  const cases: [number, string, ErrorKind][] = [
    [400, 'malformed', 'Malformed'],
    [405, 'method_not_allowed', 'Malformed'],
    [401, 'token_expired', 'Unauthorized'],
    [403, 'scope_missing', 'Forbidden'],
    [403, 'reject_policy', 'RejectPolicy'],
    [404, 'single_chunk', 'NotFound'],
    [409, 'chain_mismatch', 'ChainMismatch'],
    [409, 'referenced', 'Conflict'],
    [412, 'precondition', 'Conflict'],
    [413, 'body_cap', 'TooLarge'],
    [429, 'busy', 'Busy'],
    [429, 'rate_limit', 'Busy'],
    [500, 'internal', 'Internal'],
    [502, 'integrity', 'Integrity'],
    [502, 'unreachable', 'Timeout'],
    [503, 'storage_busy', 'StorageBusy'],
    [503, 'amnesia', 'Backpressure'],
    [504, 'timeout', 'Timeout'],
    [507, 'disk_full', 'StorageBusy'],
  ]
  for (const [status, code, kind] of cases) {
    const reply = problem(status, code, { retry_after: 7 })
    await assert.rejects(world(new ScriptedTransport(reply)).call({ idempotent: false }), (error) => {
      assert.ok(isError(kind, code, status)(error))
      assert.equal((error as CairnError).message, `It is ${code}.`)
      assert.equal((error as CairnError).retryAfterMs, 7000)
      assert.equal(((error as CairnError).cause as { corr_id: string }).corr_id, 'c')
      return true
    })
  }
})

test('an error without a problem is known by its status alone', async () => {
  const replies = [
    answer(502, '<html>', { 'content-type': 'text/html' }),
    answer(502, 'not json', { 'content-type': 'application/problem+json' }),
    answer(502, '{"code":5}', { 'content-type': 'application/problem+json' }),
  ]
  for (const reply of replies) {
    const wanted = world(new ScriptedTransport(reply)).call({ idempotent: false })
    await assert.rejects(wanted, isError('Timeout', 'http_502', 502))
  }
})

test('Retry-After of the header is taken before the body, and a date is not believed', async () => {
  const waits: [string, number | undefined][] = [
    ['2', 2000],
    ['Wed, 21 Oct 2026 07:28:00 GMT', undefined],
    ['-1', undefined],
  ]
  for (const [header, expected] of waits) {
    const reply = answer(503, '', { 'retry-after': header })
    const wanted = world(new ScriptedTransport(reply)).call({ idempotent: false })
    await assert.rejects(wanted, (error) => (error as CairnError).retryAfterMs === expected)
  }
})

test('an endless answer is given up', async () => {
  const reply = answer(200, 'x'.repeat(2000))
  await assert.rejects(world(new ScriptedTransport(reply)).call(), isError('Internal', 'bad_answer'))
})

test('a target that keeps failing is left alone, one that keeps saying no is not', async () => {
  const runs: [Reply, string][] = [
    [new CairnError('Timeout', 'gone', { code: 'unreachable', status: 502 }), 'open'],
    [problem(500, 'internal'), 'open'],
    [problem(404, 'not_found'), 'closed'],
    [problem(429, 'busy'), 'closed'],
  ]
  for (const [reply, state] of runs) {
    const transport = new ScriptedTransport(reply)
    const { runtime, breakers, caller } = world(transport)
    const call: Call<string> = { operation: 'look', method: 'GET', path: 'x', idempotent: false, read: async () => '' }
    const context = { deadline: Deadline.after(runtime.clock, 1000) }
    for (let time = 0; time < 10; time += 1) await assert.rejects(caller.call(call, context))
    breakers.sweep()
    assert.equal(breakers.state('storage'), state)
    await assert.rejects(caller.call(call, context), (error) => isKind(error, 'BreakerOpen') === (state === 'open'))
    assert.equal(transport.requests.length, state === 'open' ? 10 : 11)
    breakers.close()
  }
})

test('a caller who leaves, and a token we could not get, do not count against the target', async () => {
  const gone = AbortSignal.abort(new CairnError('Canceled', 'The caller left.'))
  const transport = new ScriptedTransport(new CairnError('Canceled', 'The caller left.'))
  const tokenless: ScopeGrant = {
    scopes: ['storage:write'],
    bearer: async () => {
      throw new CairnError('Internal', 'no token')
    },
  }
  const { runtime, breakers, caller } = world(transport, tokenless)
  const call: Call<string> = { operation: 'look', method: 'GET', path: 'x', idempotent: false, read: async () => '' }
  const deadline = Deadline.after(runtime.clock, 1000)
  for (let time = 0; time < 20; time += 1) {
    await assert.rejects(caller.call(call, { deadline, signal: gone }))
    await assert.rejects(caller.call({ ...call, scope: 'storage:write' }, { deadline }))
  }
  breakers.sweep()
  assert.equal(breakers.state('storage'), 'closed')
  breakers.close()
})

test('work whose budget is gone is not started', async () => {
  const transport = new ScriptedTransport(answer(200))
  await assert.rejects(world(transport).call({ idempotent: false }, { ms: 0 }), isError('Timeout', 'timeout'))
  assert.equal(transport.requests.length, 0)
})

test('a path cannot lead away from the base', async () => {
  const transport = new ScriptedTransport(answer(200))
  await assert.rejects(
    world(transport, NO_SCOPES, 'http://peer.example/cairn/').call({ path: '../admin' }),
    isError('Malformed', 'malformed'),
  )
  assert.equal(transport.requests.length, 0)
})
