/** The Committer alone can reach the writer of the log, the Pruner alone its trimmer: every other path is tried. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Journal } from '@cairn/store'
import { Ledger } from '../src/domain/ledger.ts'
import { LogTree } from '../src/domain/log-tree.ts'
import { LogTrimmer, LogWriter } from '../src/domain/registry-log.ts'
import { registryRoutes } from '../src/main.ts'
import { TestService } from './harness.ts'
import { ALICE, rootsOf } from './signers.ts'

/** Everything that can be got at from these objects by properties, prototypes and getters. */
function reachable(roots: readonly unknown[]): Set<object> {
  const seen = new Set<object>()
  const waiting = [...roots]
  for (let next = waiting.pop(); waiting.length > 0 || next !== undefined; next = waiting.pop()) {
    const isObject = (typeof next === 'object' && next !== null) || typeof next === 'function'
    if (!isObject || seen.has(next as object) || next === globalThis) continue
    seen.add(next as object)
    for (const key of Reflect.ownKeys(next as object))
      waiting.push(Reflect.getOwnPropertyDescriptor(next as object, key)?.value)
    if (next instanceof Map) waiting.push(...next.keys(), ...next.values())
    if (next instanceof Set) waiting.push(...next)
  }
  return seen
}

test('no object the routes, tasks and parts give away is the writer, the trimmer, the journal, the tree or the ledger', async () => {
  const service = await TestService.start(rootsOf(1, [ALICE]))
  const { parts, running } = service
  const all = reachable([parts, running, registryRoutes(parts)])
  assert.ok(all.size > 100, 'the walk went somewhere')
  for (const kind of [LogWriter, LogTrimmer, Journal, LogTree, Ledger])
    assert.deepEqual(
      [...all].filter((each) => each instanceof kind),
      [],
      kind.name,
    )
  await service.stop()
})

test('no request but a commit moves HEAD, whatever it says', async () => {
  const service = await TestService.start(rootsOf(1, [ALICE]))
  const before = service.parts.published.value.head
  const id = `p_${'0'.repeat(32)}`
  for (const { method, path } of registryRoutes(service.parts)) {
    if (path === '/events' || path === '/registry/stream') continue
    const target = path.replace(':id', id).replace(':version', '0').replace(':name', 'a@1').replace('*', '0/000.p/1')
    for (const body of [
      undefined,
      { version: 9, hash: before.hash, head: before },
      { payload: { items: [] }, head: before },
    ])
      await service.ask(method, target, method === 'GET' || body === undefined ? {} : { body })
  }
  assert.deepEqual(service.parts.published.value.head, before)
  await service.stop()
})
