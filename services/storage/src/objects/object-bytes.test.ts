import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BodyPart, ObjectBytes } from './object-bytes.ts'
import type { LoadedWindow } from './object-reader.ts'

const WINDOW: BodyPart = { tag: 'window', window: [{ chunk: 0, from: 0, to: 1 }] }
const text = (value: string): BodyPart => ({ tag: 'text', bytes: Buffer.from(value) })

/** Windows of two pieces each, and how many are held now. */
function windows() {
  const counts = { loaded: 0, held: 0 }
  const load = async (): Promise<LoadedWindow> => {
    await Promise.resolve()
    counts.loaded += 1
    counts.held += 1
    const name = counts.loaded
    return {
      pieces: [Buffer.from(`${name}a`), Buffer.from(`${name}b`)],
      [Symbol.dispose]: () => {
        counts.held -= 1
      },
    }
  }
  return { counts, load }
}

test('text and windows come in order; a window is let go before the next is loaded', async () => {
  const { counts, load } = windows()
  const body = await ObjectBytes.open([text('<'), WINDOW, text('|'), WINDOW, text('>')], load, load)
  assert.equal(counts.loaded, 1, 'the first window is here before anybody reads')
  let all = ''
  for await (const piece of body) {
    all += Buffer.from(piece).toString()
    assert.ok(counts.held <= 1)
  }
  assert.equal(all, '<1a1b|2a2b>')
  assert.equal(counts.held, 0)
})

test('a body nobody reads, and one that is left in the middle, let go of what they hold', async () => {
  for (const reads of [0, 1, 2, 3, 4]) {
    const { counts, load } = windows()
    const body = await ObjectBytes.open([WINDOW, WINDOW], load, load)
    for (let read = 0; read < reads; read += 1) await body.next()
    await body.return()
    assert.equal(counts.held, 0, `after ${reads} reads`)
    assert.deepEqual(await body.next(), { done: true, value: undefined })
  }
})

test('a window that arrives after its reader has gone is let go', async () => {
  const { counts, load } = windows()
  const arriving = Promise.withResolvers<void>()
  const late = async (): Promise<LoadedWindow> => {
    await arriving.promise
    return await load()
  }
  const body = await ObjectBytes.open([WINDOW, WINDOW], load, late)
  await body.next()
  await body.next()
  const pending = body.next()
  await body.return()
  arriving.resolve()
  assert.deepEqual(await pending, { done: true, value: undefined })
  assert.equal(counts.held, 0)
})

test('what is wrong with the first window is known before there is a body', async () => {
  const refuse = async (): Promise<LoadedWindow> => await Promise.reject(new Error('damaged'))
  await assert.rejects(ObjectBytes.open([text('<'), WINDOW], refuse, refuse), { message: 'damaged' })
})
