/** What a service answers, held against the row of its route: every answer of every test. */
import assert from 'node:assert/strict'
import type { Route } from '@cairn/http'
import { z } from 'zod'
import type { Answer } from './answer.ts'

/**
 * Fails for a JSON body that is not what the row promises: a field that is missing, of another form, or not named there.
 * Schemas of answers drop what they do not name, as a client does, so that what is left must be all that came.
 */
export function checkContract(route: Route | undefined, answer: Answer): void {
  const { status, headers, body, broken } = answer
  const type = headers['content-type'] ?? ''
  if (route === undefined || broken !== undefined || body.length === 0) return
  // A part of JSON is none.
  if (status === 206 || !type.startsWith('application/json')) return
  const place = `${route.method} ${route.path} ${status}`
  const row = route.responses[status]
  // Content of others, of the type they gave it.
  if (row?.mediaType !== undefined) return
  const schema = row?.schema
  assert.ok(schema !== undefined, `${place}: the row has no schema for this JSON: ${body.toString().slice(0, 300)}`)
  const parsed = z.safeParse(schema, answer.json())
  assert.ok(
    parsed.success,
    parsed.success ? '' : `${place}: ${z.prettifyError(parsed.error)} in ${body.toString().slice(0, 500)}`,
  )
  assert.deepEqual(parsed.data, answer.json(), `${place}: the row does not name all of it`)
}
