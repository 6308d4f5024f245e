import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { virtualRuntime } from '@cairn/kernel/testing'
import { encodeCbor } from '@cairn/wire'
import { addressNamed, METRICS } from '../test/peer.ts'
import { askForRecords, type ByteStream, ProviderAnswerer } from './provider-protocol.ts'

const HELD = addressNamed('held')

/** One end of a stream in memory; what is sent at one comes out at the other, in pieces of any size. */
class End implements ByteStream {
  peer: End | undefined
  readonly #arrived: Uint8Array[] = []
  #ended = false
  #error: Error | undefined
  #wake: () => void = () => {}
  readonly #piece: number

  constructor(piece: number) {
    this.#piece = piece
  }

  get aborted(): boolean {
    return this.#error !== undefined
  }

  send(data: Uint8Array): boolean {
    for (let at = 0; at < data.length; at += this.#piece) this.peer?.arrive(data.slice(at, at + this.#piece))
    return true
  }

  async close(): Promise<void> {
    this.peer?.end()
    await Promise.resolve()
  }

  abort(error: Error): void {
    this.fail(error)
    this.peer?.fail(new Error('reset'))
  }

  arrive(bytes: Uint8Array): void {
    this.#arrived.push(bytes)
    this.#wake()
  }

  end(): void {
    this.#ended = true
    this.#wake()
  }

  fail(error: Error): void {
    this.#error ??= error
    this.#wake()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for (;;) {
      if (this.#error !== undefined) throw this.#error
      const bytes = this.#arrived.shift()
      if (bytes !== undefined) yield bytes
      else if (this.#ended) return
      else await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }
}

function pair(piece = 1_000_000): readonly [End, End] {
  const [one, two] = [new End(piece), new End(piece)]
  one.peer = two
  two.peer = one
  return [one, two]
}

const FOREVER = new AbortController().signal

function answerer(records: readonly Uint8Array[]) {
  const runtime = virtualRuntime(1, METRICS)
  const answering = new ProviderAnswerer({ ...runtime, records: async (cid) => (cid === HELD ? records : []) })
  const asked = (result: string): number => runtime.metrics.value('provider_requests_total', { result })
  return { runtime, answering, asked }
}

describe('/cairn/provider/1', () => {
  for (const piece of [1, 3, 1_000_000]) {
    test(`carries the records, in pieces of ${piece}`, async () => {
      const records = [Uint8Array.of(1, 2, 3), new Uint8Array(700).fill(9)]
      const { answering, asked } = answerer(records)
      const [asker, answered] = pair(piece)
      const serving = answering.answer(answered, 'peer', FOREVER)
      assert.deepEqual(await askForRecords(asker, HELD, FOREVER), records)
      await serving
      assert.equal(asked('found'), 1)
    })
  }

  test('says plainly that there is nothing', async () => {
    const { answering, asked } = answerer([])
    const [asker, answered] = pair()
    const serving = answering.answer(answered, 'peer', FOREVER)
    assert.deepEqual(await askForRecords(asker, HELD, FOREVER), [])
    await serving
    assert.equal(asked('none'), 1)
  })

  test('answers with no more than eight records and 64 KiB', async () => {
    for (const [bytes, count] of [
      [10, 8],
      [16_000, 4],
    ] as const) {
      const { answering } = answerer(Array.from({ length: 20 }, () => new Uint8Array(bytes)))
      const [asker, answered] = pair()
      const serving = answering.answer(answered, 'peer', FOREVER)
      assert.equal((await askForRecords(asker, HELD, FOREVER)).length, count)
      await serving
    }
  })

  test('cuts off who asks too often, until the rate allows it again, and nobody else', async () => {
    const { answering, asked, runtime } = answerer([])
    const ask = async (peer: string): Promise<boolean> => {
      const [asker, answered] = pair()
      const serving = answering.answer(answered, peer, FOREVER)
      const outcome = await askForRecords(asker, HELD, FOREVER)
        .then(() => true)
        .catch(() => false)
      await serving
      return outcome
    }
    for (let at = 0; at < 100; at += 1) assert.equal(await ask('greedy'), true)
    assert.equal(await ask('greedy'), false)
    assert.equal(await ask('modest'), true)
    assert.equal(asked('rate_limited'), 1)
    await runtime.clock.run(1_000)
    assert.equal(await ask('greedy'), true)
  })

  test('cuts off a request that is too long, and one that never ends', async () => {
    const { answering, asked } = answerer([])
    const [long, answered] = pair()
    long.send(new Uint8Array(33))
    await answering.answer(answered, 'peer', FOREVER)
    const controller = new AbortController()
    const [silent, waiting] = pair()
    const serving = answering.answer(waiting, 'peer', controller.signal)
    controller.abort()
    await serving
    assert.equal(asked('failed'), 2)
    assert.ok(long.aborted && silent.aborted)
  })

  const lies: readonly (readonly [string, Uint8Array])[] = [
    ['announces more than 64 KiB', Uint8Array.of(0xff, 0, 0, 0)],
    ['is longer than announced', Uint8Array.of(0, 0, 0, 1, 0x80, 0x80)],
    ['is no list', framed(encodeCbor({ a: 1 }))],
    ['is a list of nine', framed(encodeCbor(Array.from({ length: 9 }, () => new Uint8Array(1))))],
    ['is a list of numbers', framed(encodeCbor([1]))],
    ['is no CBOR', framed(Uint8Array.of(0xff))],
  ]
  for (const [what, answer] of lies) {
    test(`refuses an answer that ${what}, and cuts the stream`, async () => {
      const [asker, liar] = pair()
      liar.send(answer)
      await assert.rejects(askForRecords(asker, HELD, FOREVER))
      assert.ok(liar.aborted)
    })
  }

  test('is given up when the answer ends early or the time is over', async () => {
    const [asker, liar] = pair()
    liar.send(Uint8Array.of(0, 0, 0, 9, 1))
    await liar.close()
    await assert.rejects(askForRecords(asker, HELD, FOREVER), { code: 'connection_lost' })
    const [patient, silent] = pair()
    const controller = new AbortController()
    const asking = askForRecords(patient, HELD, controller.signal)
    controller.abort()
    await assert.rejects(asking)
    assert.ok(silent.aborted)
  })
})

function framed(list: Uint8Array): Uint8Array {
  return Uint8Array.of(0, 0, list.length >> 8, list.length & 255, ...list)
}
