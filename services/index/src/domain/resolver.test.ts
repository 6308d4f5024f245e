import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Breakers, Deadline, isKind, KERNEL_METRICS, sleep } from '@cairn/kernel'
import { leaks, virtualRuntime } from '@cairn/kernel/testing'
import type { LocalRecords, ProviderRouting } from '@cairn/routing'
import { addressOf } from '@cairn/wire'
import { indexSection } from '../config.ts'
import { INDEX_METRICS } from '../metrics.ts'
import { Cache } from './cache.ts'
import type { LocalOverrides } from './local-overrides.ts'
import type { CachedResult } from './lookup.ts'
import { Resolver } from './resolver.ts'

const CID = addressOf(new Uint8Array(1))

test('a lookup whose own budget ends first is a timeout, and nothing of it is kept', async () => {
  const runtime = virtualRuntime(1, { ...KERNEL_METRICS, ...INDEX_METRICS })
  const config = indexSection.parse({})
  const cache = new Cache<CachedResult>(runtime, () => ({ entries: 10, isPinned: () => false }))
  const breakers = new Breakers(runtime)
  const silent = {
    legs: () => [
      {
        target: 'peer',
        knowledge: 'peer',
        find: async (_cid: string, options: { signal: AbortSignal }) => await sleep(runtime.clock, 1e9, options),
      },
    ],
  } as unknown as ProviderRouting
  const local = { about: async () => await Promise.resolve([]) } as unknown as LocalRecords
  const parts = {
    config: () => config,
    names: undefined,
    overrides: {} as LocalOverrides,
    local,
    routings: [silent],
    breakers,
    cache,
  }
  const resolver = new Resolver(runtime, parts)
  const question = { tag: 'providers', cid: CID } as const
  const found = resolver.find(question, Deadline.after(runtime.clock, 100), new AbortController().signal)
  const refused = assert.rejects(found, (error) => isKind(error, 'Timeout'))
  await runtime.clock.run(100)
  await refused
  assert.equal(runtime.topology.snapshot().find(({ name }) => name === 'cache_writes')?.facts['depth'], 0)
  cache.close()
  breakers.close()
  assert.deepEqual(leaks(runtime), [])
})
