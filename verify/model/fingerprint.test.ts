import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fingerprint } from './fingerprint.ts'

test('one object met twice differs from two that look alike', () => {
  const node = { item: 'a' }
  assert.equal(fingerprint([node, node]), '&0[&1{item:"a",},#1,]2')
  assert.notEqual(fingerprint([node, node]), fingerprint([node, { item: 'a' }]))
})

test('the order in which keys were set does not matter, the order of elements does', () => {
  assert.equal(fingerprint({ a: 1, b: 2 }), fingerprint({ b: 2, a: 1 }))
  assert.notEqual(fingerprint([1, 2]), fingerprint([2, 1]))
  assert.notEqual(fingerprint(new Set([1, 2])), fingerprint(new Set([2, 1])))
})

test('a list that leads back into itself ends', () => {
  const list: { next?: unknown } = {}
  list.next = { previous: list }
  assert.equal(fingerprint(list), '&0{next:&1{previous:#0,},}')
})

test('values that look alike as text are told apart', () => {
  const values = [0, -0, '0', 0n, null, undefined, 'undefined', true, 'true', Number.NaN, [], {}, new Map(), new Set()]
  assert.equal(new Set(values.map((value) => fingerprint(value))).size, values.length)
})

test('Maps and Sets are written with their contents, bytes with their values', () => {
  assert.notEqual(fingerprint(new Map([['a', 1]])), fingerprint(new Map([['a', 2]])))
  assert.notEqual(fingerprint(Uint8Array.of(1)), fingerprint(Uint8Array.of(2)))
})

test('a class with private fields shows what it iterates and its size', () => {
  class Line {
    readonly #items: string[]
    constructor(...items: string[]) {
      this.#items = items
    }
    get size(): number {
      return this.#items.length
    }
    [Symbol.iterator](): Iterator<string> {
      return this.#items.values()
    }
  }
  assert.equal(fingerprint(new Line('a', 'b')), '&0Line["a","b",]2{}')
})

test('classes with the same fields differ by name, and errors by message', () => {
  class Cat {
    legs = 4
  }
  class Dog {
    legs = 4
  }
  assert.notEqual(fingerprint(new Cat()), fingerprint(new Dog()))
  assert.notEqual(fingerprint(new Error('one')), fingerprint(new Error('two')))
})

test('of a function only its presence counts', () => {
  assert.equal(fingerprint({ wake: () => 1 }), fingerprint({ wake: () => 2 }))
  assert.notEqual(fingerprint({ wake: () => 1 }), fingerprint({ wake: undefined }))
})

test('a getter is read, so a private value can be shown on purpose', () => {
  let hidden = 1
  const view = {
    get value() {
      return hidden
    },
  }
  const before = fingerprint(view)
  hidden = 2
  assert.notEqual(fingerprint(view), before)
})

test('what cannot be compared is refused', () => {
  assert.throws(() => fingerprint({ reply: Promise.resolve() }), /holds a Promise/)
  assert.throws(() => fingerprint(new WeakMap()), /holds a WeakMap/)
})
