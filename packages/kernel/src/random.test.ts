import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom, SystemRandom } from './random.ts'

test('a seed gives the same sequence on every machine', () => {
  const random = new SeededRandom(7)
  const numbers = [random.next(), random.next(), random.next()]
  assert.deepEqual(numbers, [0.20689731952734292, 0.3906625588424504, 0.4641796217765659])
  assert.deepEqual([...random.bytes(4)], [180, 173, 222, 92])
})

test("the machine's randomness fills its range", () => {
  const random = new SystemRandom()
  const numbers = Array.from({ length: 200 }, () => random.next())
  assert.ok(numbers.every((number) => number >= 0 && number < 1))
  assert.ok(Math.min(...numbers) < 0.25 && Math.max(...numbers) > 0.75)
  assert.equal(new Set(numbers).size > 190, true)
  assert.ok(random.bytes(64).some((byte) => byte > 0))
})
