import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryLog, MemoryMetrics, openQueue, type Queue, systemRuntime } from '@cairn/kernel'
import { INDEX_TOPOLOGY } from '../topology.ts'
import { type Priority, ReindexQueue, type ReindexRequest } from './prefetcher.ts'

const FOREVER = new AbortController().signal

function scene() {
  const queue: Queue<ReindexRequest> = openQueue(
    systemRuntime(new MemoryLog(), new MemoryMetrics()),
    INDEX_TOPOLOGY,
    'reindex',
  )
  const line = new ReindexQueue(queue)
  const ask = (name: string, priority: Priority) => queue.trySend({ question: { tag: 'name', name }, priority })
  const next = async () => {
    const question = await line.next(FOREVER)
    return question?.tag === 'name' ? question.name : undefined
  }
  return { queue, ask, next }
}

test('the most urgent is next, and of equals the one that came first; whoever comes later may still be before', async () => {
  const { queue, ask, next } = scene()
  ask('l1', 'low')
  ask('n1', 'normal')
  ask('h1', 'high')
  ask('n2', 'normal')
  assert.deepEqual([await next(), await next()], ['h1', 'n1'])
  ask('h2', 'high')
  assert.deepEqual([await next(), await next(), await next()], ['h2', 'n2', 'l1'])
  const waiting = next()
  ask('n3', 'normal')
  assert.equal(await waiting, 'n3')
  queue.close()
  assert.equal(await next(), undefined)
})

test('no more wait beside the queue than in it', async () => {
  const { queue, ask, next } = scene()
  for (let at = 0; at < queue.capacity; at += 1) ask(`n${at}`, 'normal')
  assert.equal(await next(), 'n0')
  for (let at = 0; at < queue.capacity; at += 1) ask(`l${at}`, 'low')
  assert.equal(await next(), 'n1')
  assert.ok(queue.depth >= queue.capacity - 2)
  queue.abort()
})
