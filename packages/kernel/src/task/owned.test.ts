import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isKind } from '../errors.ts'
import { Owned } from './owned.ts'

test('an update is one synchronous step and moves the version', () => {
  const head = new Owned({ version: 1 })
  assert.deepEqual(
    head.update((value) => ({ version: value.version + 1 })),
    { value: { version: 2 }, version: 1 },
  )
})

test('a commit against a stale version is refused and changes nothing', () => {
  const head = new Owned('a')
  const { version } = head.read()
  assert.deepEqual(head.commit(version, 'b'), { value: 'b', version: 1 })
  assert.equal(head.commit(version, 'c'), undefined)
  assert.deepEqual(head.read(), { value: 'b', version: 1 })
})

test('a promise is refused by the compiler and at run time', () => {
  const head = new Owned<unknown>(0)
  // @ts-expect-error An asynchronous change is exactly what this type exists to refuse.
  const update = (): unknown => head.update(async () => await Promise.resolve(1))
  assert.throws(update, (error) => isKind(error, 'Internal'))
  assert.throws(
    () => head.commit(0, Promise.resolve(1)),
    (error) => isKind(error, 'Internal'),
  )
  assert.equal(head.read().value, 0)
})

test('a change that throws leaves the value as it was', () => {
  const head = new Owned(1)
  assert.throws(
    () =>
      head.update(() => {
        throw new Error('no')
      }),
    /no/,
  )
  assert.deepEqual(head.read(), { value: 1, version: 0 })
})

test('what only looks like a promise is a value like any other, and so is nothing', () => {
  const head = new Owned<unknown>(0)
  for (const value of [null, undefined, 7, 'then', {}, JSON.parse('{"then":1}') as unknown])
    assert.deepEqual(head.update(() => value).value, value)
})
