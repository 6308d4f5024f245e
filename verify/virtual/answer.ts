/** What a client sees of an answer: its fields once each, the whole body, and what broke it off. */
import assert from 'node:assert/strict'
import type { IngressResponse } from '@cairn/transport'
import { isStream } from '@cairn/transport'

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  /** What ended the body before its end; the client sees a broken connection. */
  readonly broken: unknown
  /** The code of a problem. */
  readonly code: string | undefined
  json(): unknown
  fields(): Readonly<Record<string, unknown>>
}

export async function readAnswer({ status, headers: raw, body, held }: IngressResponse): Promise<Answer> {
  const headers: Record<string, string> = {}
  for (let at = 0; at < raw.length; at += 2) {
    const [name = '', value = ''] = [raw[at]?.toLowerCase(), raw[at + 1]]
    assert.equal(headers[name], undefined, `${name} came twice`)
    headers[name] = value
  }
  const pieces: Buffer[] = []
  let broken: unknown
  try {
    if (isStream(body)) for await (const piece of body) pieces.push(Buffer.from(piece))
    else if (body !== undefined) pieces.push(Buffer.from(body as Uint8Array))
  } catch (error) {
    broken = error
  }
  held?.[Symbol.dispose]()
  const all = Buffer.concat(pieces)
  const json = (): unknown => JSON.parse(all.toString())
  const fields = (): Record<string, unknown> => json() as Record<string, unknown>
  const isProblem = headers['content-type'] === 'application/problem+json' && all.length > 0
  const code = isProblem ? String(fields()['code']) : undefined
  return { status, headers, body: all, broken, json, fields, code }
}

/** The answer is a problem with this code, and says everything a problem must. */
export function isProblem(answer: Answer, status: number, code: string): void {
  assert.equal(`${answer.status} ${answer.code}`, `${status} ${code}`, answer.body.toString().slice(0, 300))
  const { type, title, detail, corr_id: corrId } = answer.fields()
  for (const field of [type, title, detail, corrId]) assert.equal(typeof field, 'string')
  assert.equal(answer.headers['x-corr-id'], corrId)
  if (status === 429 || status === 503) assert.match(answer.headers['retry-after'] ?? '', /^\d+$/)
}
