import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import { CairnError, isKind } from '@cairn/kernel'
import { abortable } from './transport.ts'

const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length

test('work that ends before the abort is passed through, and leaves no listener', async () => {
  const { signal } = new AbortController()
  assert.equal(await abortable(signal, Promise.resolve(5)), 5)
  await assert.rejects(abortable(signal, Promise.reject(new Error('broken'))), /broken/)
  assert.equal(listeners(signal), 0)
})

test('an abort ends the wait at once, and what comes late is handed over to be released', async () => {
  const controller = new AbortController()
  const work = Promise.withResolvers<string>()
  const late: string[] = []
  const waiting = abortable(controller.signal, work.promise, (value) => late.push(value))
  controller.abort(new CairnError('Timeout', 'too long'))
  await assert.rejects(waiting, (error) => isKind(error, 'Timeout'))
  work.resolve('late')
  await work.promise
  assert.deepEqual(late, ['late'])
  assert.equal(listeners(controller.signal), 0)
})

test('after the abort nothing is waited for', async () => {
  const signal = AbortSignal.abort()
  const late: number[] = []
  await assert.rejects(
    abortable(signal, Promise.resolve(1), (value) => late.push(value)),
    (error) => isKind(error, 'Canceled'),
  )
  await assert.rejects(abortable(signal, Promise.reject(new Error('unheard'))), (error) => isKind(error, 'Canceled'))
  assert.deepEqual(late, [1])
})
