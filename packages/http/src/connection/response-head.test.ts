import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VirtualClock } from '@cairn/kernel/testing'
import { ResponseHeads } from './response-sink.ts'

const START = Date.UTC(2026, 10, 15, 12, 0, 0)

test('a head has the status, the fields in order, the date of the second and how long the connection is kept', () => {
  const clock = new VirtualClock(START)
  const heads = new ResponseHeads(clock, () => 60_000)
  const fields = Object.freeze(['ETag', '"a"'])
  const expected = (date: string): string =>
    `HTTP/1.1 206 Partial Content\r\nETag: "a"\r\nX-Corr-ID: 1\r\nDate: Sun, 15 Nov 2026 ${date} GMT\r\n` +
    'Connection: keep-alive\r\nKeep-Alive: timeout=60\r\n\r\n'
  assert.equal(heads.text(206, fields, ['X-Corr-ID', '1'], false), expected('12:00:00'))
  clock.advance(1500)
  assert.equal(heads.text(206, fields, ['X-Corr-ID', '1'], false), expected('12:00:01'))
  assert.match(heads.text(200, [], [], true), /\r\nConnection: close\r\n\r\n$/)
})

test('an answer that has a Date, in any case, keeps it and gets no other', () => {
  const heads = new ResponseHeads(new VirtualClock(START), () => 60_000)
  for (const name of ['date', 'Date'])
    for (const headers of [[name, 'then'], Object.freeze([name, 'then'])])
      for (const closes of [true, false]) {
        const dates = heads.text(200, headers, [], closes).match(/^date: .*$/gim)
        assert.deepEqual(dates, [`${name}: then`])
      }
})

test('a field that could end early is refused, frozen or not', () => {
  const heads = new ResponseHeads(new VirtualClock(START), () => 60_000)
  for (const bad of [
    ['X-A', 'a\r\nSet-Cookie: b'],
    ['X A', 'b'],
    ['', 'b'],
    ['X-A', 'a\0'],
    ['X-A', '→'],
  ]) {
    assert.throws(() => heads.text(200, bad, [], false), /cannot be sent/)
    assert.throws(() => heads.text(200, Object.freeze(bad), [], false), /cannot be sent/)
  }
})
