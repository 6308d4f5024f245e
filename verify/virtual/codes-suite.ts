/** Every code a client of a service may have to understand, each triggered once; one without a row fails. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Answer, isProblem } from './answer.ts'

export type Trigger = () => Promise<Answer>

export interface CodedService {
  /** What provokes each code that its routes declare. */
  readonly own: Readonly<Record<string, Trigger>>
  /** What provokes each code that the layers below know, and that clients know by another name. */
  readonly renamed: Readonly<Record<string, Trigger>>
  /** Those names. */
  readonly names: Readonly<Record<string, string>>
  readonly routes: () => Promise<readonly { readonly errors?: Readonly<Record<string, number>> }[]>
}

export function codesSuite({ own, renamed, names, routes }: CodedService): void {
  const declared = once(async () => {
    const codes = new Map<string, Set<number>>()
    for (const { errors = {} } of await routes())
      for (const [code, status] of Object.entries(errors)) codes.set(code, (codes.get(code) ?? new Set()).add(status))
    return codes
  })

  describe('an error is answered with its code and the status its routes declare', () => {
    for (const [code, trigger] of Object.entries(own))
      test(code, async () => {
        const answer = await trigger()
        isProblem(answer, answer.status, code)
        assert.ok((await declared()).get(code)?.has(answer.status), String(answer.status))
      })
  })

  describe('what is known by another name inside is answered with the name clients know', () => {
    for (const [code, trigger] of Object.entries(renamed))
      test(code, async () => {
        const answer = await trigger()
        isProblem(answer, answer.status, names[code] ?? assert.fail(`${code} has no other name`))
      })
  })

  test('no route declares a code that is not triggered here, and none is renamed that is not', async () => {
    assert.deepEqual([...(await declared()).keys()].sort(), Object.keys(own).sort())
    assert.deepEqual(Object.keys(names).sort(), Object.keys(renamed).sort())
  })
}

function once<T>(work: () => Promise<T>): () => Promise<T> {
  let done: Promise<T> | undefined
  return async () => {
    done ??= work()
    return await done
  }
}
