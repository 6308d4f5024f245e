import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { GenerationCache } from './generation-cache.ts'

describe('a memory of what was asked lately', () => {
  test('keeps what is asked for all the time, and forgets what is not', () => {
    const recent = new GenerationCache<number>(2)
    recent.add('asked', 1)
    recent.add('forgotten', 2)
    for (let number = 3; number < 20; number += 1) {
      recent.add(String(number), number)
      assert.equal(recent.get('asked'), 1)
    }
    assert.equal(recent.get('forgotten'), undefined)
  })

  test('holds no more than two generations', () => {
    const recent = new GenerationCache<number>(3)
    for (let number = 0; number < 100; number += 1) recent.add(String(number), number)
    const held = Array.from({ length: 100 }, (_, number) => String(number)).filter(
      (key) => recent.get(key) !== undefined,
    )
    assert.deepEqual(held, ['96', '97', '98', '99'])
  })

  test('knows nothing of what was removed, whichever generation it was of', () => {
    const recent = new GenerationCache<number>(1)
    recent.add('old', 1)
    recent.add('young', 2)
    recent.remove('old')
    recent.remove('young')
    assert.deepEqual([recent.get('old'), recent.get('young')], [undefined, undefined])
  })
})
