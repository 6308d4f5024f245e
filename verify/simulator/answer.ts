import type { CairnError } from '@cairn/kernel'

export type ServiceName = 'storage' | 'index' | 'registry' | 'edge' | 'interop'

export const SERVICE_NAMES: readonly ServiceName[] = ['storage', 'index', 'registry', 'edge', 'interop']

/** What a client got. */
export interface Answer {
  /** 0 if the connection broke before a status came. */
  readonly status: number
  /** `true` if no answer came, or not all of it: the deadline passed, the connection was lost or refused. */
  readonly isBroken: boolean
  /** The code of a problem; of the client's own error if the answer is broken. */
  readonly code: string | undefined
  readonly headers: Readonly<Record<string, string>>
  /** What came of the body. */
  readonly body: Buffer
  json(): unknown
}

const EMPTY = Buffer.alloc(0)

export function answerOf(status: number, headers: Readonly<Record<string, string>>, body: Buffer): Answer {
  const json = (): unknown => JSON.parse(body.toString()) as unknown
  const isProblem = headers['content-type'] === 'application/problem+json' && body.length > 0
  const code = isProblem ? String((json() as { code?: unknown }).code) : undefined
  return { status, isBroken: false, code, headers, body, json }
}

/** The connection broke; `status` is 0 if that was before the headers. */
export function brokenAnswer({ code }: CairnError, status = 0, body = EMPTY): Answer {
  const json = (): unknown => {
    throw new Error(`The connection broke (${code}); there is nothing to read.`)
  }
  return { status, isBroken: true, code, headers: {}, body, json }
}
