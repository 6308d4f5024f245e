import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type BenchCase, measure, perSecond } from './harness.ts'
import { figure, recordResults, resultLine } from './report.ts'
import { spreadOf } from './statistics.ts'

describe('spreadOf', () => {
  test('takes the middle of an odd number of runs', () => {
    assert.deepEqual(spreadOf([9, 1, 5]), { median: 5, min: 1, max: 9, deviation: 4 })
  })
  test('takes the mean of the two middle ones of an even number', () => {
    assert.deepEqual(spreadOf([4, 1, 3, 2]), { median: 2.5, min: 1, max: 4, deviation: 1 })
  })
  test('is not moved by one disturbed run', () => {
    assert.deepEqual(spreadOf([10, 11, 10, 10, 900]), { median: 10, min: 10, max: 900, deviation: 0 })
  })
  test('sorts numbers as numbers', () => assert.equal(spreadOf([10, 9, 100]).median, 10))
  test('refuses to speak of nothing', () => assert.throws(() => spreadOf([]), RangeError))
})

/** A case that plays back figures and notes who ran. */
function played(
  ours: readonly number[],
  peer: readonly number[],
  higherIsBetter = true,
): BenchCase & { turns: string } {
  const next = { ours: 0, peer: 0 }
  return {
    name: 'sample',
    unit: 'items/s',
    higherIsBetter,
    peerName: 'a bare array',
    limits: 'capacity 4',
    turns: '',
    async ours() {
      this.turns += 'o'
      return ours[next.ours++ % ours.length]!
    },
    async peer() {
      this.turns += 'p'
      return peer[next.peer++ % peer.length]!
    },
  }
}

describe('measure', () => {
  test('lets the two sides take turns, each first as often as the other', async () => {
    const bench = played([1], [1])
    await measure(bench, 6)
    assert.equal(bench.turns, 'oppo'.repeat(4))
  })
  test('leaves the warm-up out of the figures', async () => {
    const { ours, rounds } = await measure(played([900, 900, 1, 2, 3, 4, 5], [1]), 5)
    assert.deepEqual([rounds, ours.median, ours.max], [5, 3, 5])
  })
  test('gives a ratio above 1 when ours is better, whichever way better is', async () => {
    assert.equal((await measure(played([10], [5]), 5)).ratio.median, 2)
    assert.equal((await measure(played([10], [5], false), 5)).ratio.median, 0.5)
  })
  test('compares the two sides of a round, so a round on a slower machine changes nothing', async () => {
    const { ratio } = await measure(played([1, 1, 8, 80, 8, 8, 80], [1, 1, 10, 100, 10, 10, 100]), 5)
    assert.deepEqual([ratio.min, ratio.max], [0.8, 0.8])
  })
  test('settles before every run', async () => {
    let settled = 0
    await measure(played([1], [1]), 5, () => {
      settled += 1
    })
    assert.equal(settled, 14)
  })
  test('refuses fewer than five rounds, and a figure that is none', async () => {
    await assert.rejects(measure(played([1], [1]), 4), /fewer than 5 rounds/)
    await assert.rejects(measure(played([Number.NaN], [1]), 5), /ours measured NaN items\/s/)
  })
})

describe('perSecond', () => {
  test('refuses a run that did not do its work', async () => {
    await assert.rejects(
      perSecond(10, 10, () => 9),
      /ended with 9 and not 10/,
    )
  })
  test('is positive for one that did', async () => assert.ok((await perSecond(10, 10, () => 10)) > 0))
})

describe('the report', () => {
  test('prints three digits and a magnitude', () => {
    assert.deepEqual([0.1234, 12.345, 1234, 5_678_900, 4.2e9].map(figure), [
      '0.123',
      '12.3',
      '1.23 k',
      '5.68 M',
      '4.20 G',
    ])
  })
  test('shows ours, the peer, the ratio and the limits', async () => {
    const text = resultLine(await measure(played([4000], [1000]), 5))
    assert.match(text, /sample: items\/s, higher is better, median of 5 rounds/)
    assert.match(text, /ours {3}4\.00 k \(4\.00 k to 4\.00 k, ±0\.0 %\)/)
    assert.match(text, /peer {3}1\.00 k .* a bare array\n {2}ratio {2}4\.00 \(.*\)\n {2}limits capacity 4$/)
  })
  test('shows the bound beside the peer where there is one', async () => {
    const bench = {
      ...played([4000], [1000]),
      bound: { name: 'a bare loop', run: async () => await Promise.resolve(5000) },
    }
    const result = await measure(bench, 5)
    assert.equal(result.boundRatio?.median, 5)
    assert.match(resultLine(result), /\n {2}bound {2}5\.00 \(.*\) beside the peer: a bare loop\n/)
    const record = recordResults('', '2026-01-02', 'one machine', new Map([['kernel/sample', result]]))
    assert.match(record, /\| 5\.00 \(.*\): a bare loop \| 5 \|/)
  })
  test('replaces the row of a bench and keeps those of others, in order', async () => {
    const result = await measure(played([4], [1]), 5)
    const first = recordResults(
      '',
      '2026-01-01',
      'one machine',
      new Map([
        ['kernel/watch', result],
        ['edge/tile', result],
      ]),
    )
    const again = recordResults(first, '2026-01-02', 'one machine', new Map([['kernel/watch', result]]))
    const rows = again.split('\n').filter((line) => line.startsWith('| `edge') || line.startsWith('| `kernel'))
    assert.equal(rows.length, 2)
    assert.match(
      rows[0] ?? '',
      /^\| `edge\/tile` \| items\/s ↑ \| 4\.00 .* \| 1\.00 .* \| a bare array \| 4\.00 \(.*\) \| {2}\| 5 \| capacity 4 \| 2026-01-01 \|$/,
    )
    assert.match(rows[1] ?? '', /kernel\/watch.*2026-01-02 \|$/)
    const elsewhere = recordResults(again, '2026-01-03', 'another machine', new Map([['edge/tile', result]]))
    const sections = elsewhere.split('\n').filter((line) => /^## On |^\| `(?:edge|kernel)\//.test(line))
    assert.deepEqual(
      sections.map((line) => line.split('|').slice(0, 2).join('|').trim()),
      ['## On one machine', '| `kernel/watch`', '## On another machine', '| `edge/tile`'],
    )
  })
})
