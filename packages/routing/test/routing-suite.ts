/** What every way to find providers must do; each implementation brings a subject and runs all of it. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { CairnError, Deadline, type Runtime } from '@cairn/kernel'
import { leaks, VirtualClock } from '@cairn/kernel/testing'
import type { Address } from '@cairn/wire'
import type { FindOptions, Provider, ProviderRouting, RoutingLeg } from '../src/provider-routing.ts'
import { addressNamed } from './peer.ts'

export interface Subject extends AsyncDisposable {
  readonly routing: ProviderRouting
  readonly runtime: Runtime
  /** Held by `holder`, and to be found. */
  readonly held: Address
  readonly holder: string
}

const BUDGET_MS = 10_000

interface Outcome {
  readonly providers: readonly Provider[]
  readonly error: unknown
}

/** Runs a leg to its end, whatever the clock is. */
async function find(
  runtime: Runtime,
  leg: RoutingLeg,
  cid: Address,
  options: Partial<FindOptions> = {},
): Promise<Outcome> {
  const providers: Provider[] = []
  const { clock } = runtime
  const running = leg
    .find(cid, {
      deadline: Deadline.after(clock, BUDGET_MS),
      signal: new AbortController().signal,
      onProvider: (provider) => providers.push(provider),
      ...options,
    })
    .then(() => undefined)
    .catch((error: unknown) => error)
  if (clock instanceof VirtualClock) await clock.run(BUDGET_MS)
  return { providers, error: await running }
}

export function routingSuite(name: string, open: () => Promise<Subject>): void {
  describe(`${name} routing`, () => {
    let subject: Subject
    before(async () => {
      subject = await open()
    })
    after(async () => {
      await subject.routing[Symbol.asyncDispose]()
      await subject[Symbol.asyncDispose]()
      assert.deepEqual(leaks(subject.runtime), [], 'something is left behind')
    })

    test('gives at most as many legs as asked for, each with a target of its own', () => {
      const { routing, held } = subject
      assert.deepEqual(routing.legs(held, 0), [])
      assert.equal(routing.legs(held, 1).length, 1)
      const targets = routing.legs(held, 5).map(({ target }) => target)
      assert.ok(targets.length >= 1 && targets.length <= 5)
      assert.equal(new Set(targets).size, targets.length)
    })

    test('finds who holds an object, with a record that is verified', async () => {
      const { routing, runtime, held, holder } = subject
      const outcomes = []
      for (const leg of routing.legs(held, 3)) outcomes.push(await find(runtime, leg, held))
      const found = outcomes.flatMap(({ providers }) => providers).filter(({ id }) => id === holder)
      assert.ok(found.length > 0, JSON.stringify(outcomes.map(({ error }) => String(error))))
      for (const { record, http, seenAtMs } of found) {
        assert.equal(record?.cid, held)
        assert.equal(record.publisher, holder)
        assert.deepEqual(http, record.http)
        assert.ok(seenAtMs <= runtime.clock.wall() && seenAtMs > runtime.clock.wall() - 60_000)
      }
    })

    test('ends without a provider and without an error for an object nobody holds', async () => {
      const { routing, runtime } = subject
      const absent = addressNamed('nobody has this')
      for (const leg of routing.legs(absent, 3)) {
        assert.deepEqual(await find(runtime, leg, absent), { providers: [], error: undefined })
      }
    })

    test('does not begin for a signal that has fired', async () => {
      const { routing, runtime, held } = subject
      const reason = new CairnError('Canceled', 'Enough.')
      for (const leg of routing.legs(held, 3)) {
        const outcome = await find(runtime, leg, held, { signal: AbortSignal.abort(reason) })
        assert.deepEqual(outcome, { providers: [], error: reason })
      }
    })

    test('stops when the signal fires, and says why', async () => {
      const { routing, runtime, held } = subject
      for (const leg of routing.legs(held, 1)) {
        const controller = new AbortController()
        const running = find(runtime, leg, held, { signal: controller.signal })
        controller.abort(new CairnError('Canceled', 'Enough.'))
        const { error } = await running
        assert.equal(error instanceof CairnError && error.message, 'Enough.')
      }
    })

    test('is a Timeout when the budget is gone', async () => {
      const { routing, runtime, held } = subject
      for (const leg of routing.legs(held, 3)) {
        const { error } = await find(runtime, leg, held, { deadline: Deadline.after(runtime.clock, 0) })
        assert.equal(error instanceof CairnError && error.kind, 'Timeout')
      }
    })

    test('names its peers without waiting', () => {
      for (const { id, addresses } of subject.routing.peers()) assert.ok(id !== '' && Array.isArray(addresses))
    })
  })
}
