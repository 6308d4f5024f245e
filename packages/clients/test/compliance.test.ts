/** One contract, met over TCP, over a Unix socket and in process. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Deadline, type ErrorKind, isKind, sleep } from '@cairn/kernel'
import { type Call, type CallContext, Caller, NO_SCOPES, readText, type ScopeGrant } from '../src/index.ts'
import { nodeClient } from '../src/testing.ts'
import { SampleService, VERSION } from './sample-service.ts'

const WAYS = ['over TCP', 'over a Unix socket', 'in process'] as const
const CORR_ID = '01ARZ3NDEKTSV4RRFFQ69G5FAV'
const SHORT_MS = 80

function isError(kind: ErrorKind, code: string, status: number): (error: unknown) => boolean {
  return (error) => {
    assert.ok(isKind(error, kind), String(error))
    assert.deepEqual([error.code, error.status], [code, status])
    return true
  }
}

for (const way of WAYS) {
  describe(way, () => {
    let sample: SampleService
    let caller: (grant?: ScopeGrant) => Caller

    before(async () => {
      sample = await SampleService.start()
      const { transport, base } = sample.ways()[way]!
      const { runtime, breakers } = sample
      caller = (grant = NO_SCOPES) => new Caller({ runtime, breakers, transport, base, target: 'sample', grant })
    })
    after(async () => {
      await sample[Symbol.asyncDispose]()
    })

    const within = (ms = 3000): CallContext => ({ deadline: Deadline.after(sample.runtime.clock, ms), corrId: CORR_ID })
    const get = (path: string): Call<string> => ({
      operation: 'get',
      method: 'GET',
      path,
      idempotent: false,
      read: async (response) => await readText(response, 10_000),
    })
    const echo = (body: Uint8Array): Call<string> => ({ ...get('echo'), method: 'POST', scope: 'node:admin', body })
    const holder = (bearer: string): ScopeGrant => ({ scopes: ['node:admin'], bearer: async () => bearer })

    test('version, readiness and health are answers', async () => {
      const client = nodeClient(caller())
      assert.deepEqual(await client.version(within()), {
        version: VERSION.version,
        facts: { service: VERSION.service, commit: VERSION.commit },
      })
      const waiting = await client.readiness(within())
      assert.deepEqual([waiting.ready, waiting.missing], [false, ['storage']])
      assert.match(waiting.why, /storage/)
      sample.service.health.meet('storage')
      assert.deepEqual(await client.readiness(within()), { ready: true, missing: [], why: '' })
      assert.deepEqual(await client.health(within()), { tag: 'healthy' })
    })

    test('a body goes out and comes back, with the correlation id and what is left of the budget', async () => {
      const body = new TextEncoder().encode('payload')
      const grant = holder(sample.bearer(['node:admin']))
      let headers: Readonly<Record<string, string>> = {}
      const read: Call<string>['read'] = async (response) => {
        headers = response.headers
        return await readText(response, 100)
      }
      assert.equal(await caller(grant).call({ ...echo(body), read }, within(30_000)), 'payload')
      assert.equal(headers['x-corr-id'], CORR_ID)
      assert.equal(headers['x-two'], 'a, b')
      const seen = sample.witness.requests.at(-1)
      assert.equal(seen?.corrId, CORR_ID)
      assert.ok(seen.budgetMs <= 29_990 && seen.budgetMs > 1000, String(seen.budgetMs))
    })

    test('the ingress asks for the scope, whoever calls', async () => {
      const body = new Uint8Array(1)
      const other = holder(sample.bearer(['events:read']))
      await assert.rejects(caller(other).call(echo(body), within()), isError('Forbidden', 'scope_missing', 403))
      const forged = holder(sample.bearer(['node:admin']).slice(0, -4))
      await assert.rejects(caller(forged).call(echo(body), within()), (error) => isKind(error, 'Unauthorized'))
    })

    test('the limits of the ingress hold, whoever calls', async () => {
      const grant = holder(sample.bearer(['node:admin']))
      const tooLong = caller(grant).call(echo(new Uint8Array(1025)), within())
      await assert.rejects(tooLong, (error) => isKind(error, 'TooLarge') && error.status === 413)
      await assert.rejects(caller().call(get('none'), within()), isError('NotFound', 'not_found', 404))
      await assert.rejects(caller().call(get('echo'), within()), isError('Malformed', 'method_not_allowed', 405))
      await assert.rejects(caller().call(get('conflict'), within()), isError('Conflict', 'http_409', 409))
    })

    test('the deadline ends a call, here and over there', async () => {
      const { witness } = sample
      const before = witness.abortedRequests
      // On a busy machine the time of a call may be over before it has arrived, and the other side hears of its end later.
      do await assert.rejects(caller().call(get('never'), within(SHORT_MS)), (error) => isKind(error, 'Timeout'))
      while (witness.abortedRequests === before)
    })

    test('a caller who leaves ends the call at once', async () => {
      const controller = new AbortController()
      const pending = caller().call(get('never'), { ...within(), signal: controller.signal })
      const ended = assert.rejects(pending, (error) => isKind(error, 'Canceled'))
      await sleep(sample.runtime.clock, 0)
      controller.abort()
      await ended
    })

    test('a stream is read as it comes, and ends at the deadline or when its reader stops', async () => {
      const { witness } = sample
      const before = witness.endedStreams
      const stream = get('stream')
      await assert.rejects(caller().call(stream, within(SHORT_MS)), (error) => isKind(error, 'Timeout'))
      const firstLine: Call<string>['read'] = async ({ body }) => {
        for await (const chunk of body) return new TextDecoder().decode(chunk).slice(0, 2)
        return ''
      }
      assert.equal(await caller().call({ ...stream, read: firstLine }, within()), '0\n')
      await sample.quiet()
      assert.equal(witness.endedStreams, before + 2)
      const dropped: Call<string>['read'] = async ({ body }) => {
        body.cancel()
        return 'dropped'
      }
      assert.equal(await caller().call({ ...stream, read: dropped }, within()), 'dropped')
      await sample.quiet()
    })

    test('a service that stops says so', async () => {
      const stopping = sample.service.stop()
      const outcome = await nodeClient(caller())
        .readiness(within())
        .catch((error: unknown) => error)
      await stopping
      if (isKind(outcome, 'Timeout')) assert.equal(outcome.code, 'unreachable')
      else assert.equal((outcome as { ready: boolean }).ready, false)
    })
  })
}
