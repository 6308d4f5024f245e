/** The pipeline's checks that need nothing but the request: each passes or throws the refusal. */
import { CairnError } from '@cairn/kernel'
import type { RequestHeaders } from './request-headers.ts'
import { type HostNames, parseTarget, type Target } from './target.ts'

/** No field that two readers of one message could understand as two messages. */
export function checkFraming(headers: RequestHeaders): void {
  if (headers.repeated !== undefined)
    throw new CairnError('Malformed', `The header ${headers.repeated} came more than once; send it once.`, {
      code: 'repeated_header',
    })
  const coding = headers.slot('transfer-encoding')
  if (coding === undefined) return
  if (headers.slot('content-length') !== undefined)
    throw new CairnError('Malformed', 'Content-Length and Transfer-Encoding exclude each other; send one of them.')
  if (coding.trim().toLowerCase() !== 'chunked')
    throw new CairnError('Malformed', 'The only Transfer-Encoding taken here is chunked.')
}

/** What is asked for, and that we are the one asked; the host is the one the client used. */
export function readTarget(
  target: string,
  headers: RequestHeaders,
  hosts: HostNames,
): { target: Target; host: string } {
  const host = headers.slot('host')
  if (host === undefined) throw new CairnError('Malformed', 'The request has no Host header; send exactly one.')
  const ours = hosts.ours(host)
  if (ours === undefined) throw misdirected(host)
  const parsed = parseTarget(target)
  if (parsed.authority === undefined) return { target: parsed, host: ours }
  const named = hosts.ours(parsed.authority)
  if (named === undefined) throw misdirected(parsed.authority)
  return { target: parsed, host: named }
}

function misdirected(host: string): CairnError {
  const shown = JSON.stringify(host.slice(0, 100))
  return new CairnError(
    'Malformed',
    `This service does not answer for ${shown}; add the name to ingress.hosts if it is ours.`,
    {
      code: 'misdirected',
      status: 421,
    },
  )
}

/** The only expectation there is. */
export function checkExpectation(headers: RequestHeaders): void {
  const expect = headers.slot('expect')
  if (expect === undefined || expect.trim().toLowerCase() === '100-continue') return
  throw new CairnError('Malformed', 'The only expectation met here is 100-continue.', {
    code: 'expectation_failed',
    status: 417,
  })
}

export function notFound(): CairnError {
  return new CairnError('NotFound', 'There is no such route; docs/API lists those there are.')
}

export function draining(): CairnError {
  return new CairnError('Canceled', 'The service is shutting down; ask another one, or again soon.', {
    code: 'draining',
    retryAfterMs: 1000,
  })
}

export function crowded(): CairnError {
  return new CairnError('Busy', 'There are too many connections; close some, or use one for several requests.', {
    code: 'too_many_connections',
    retryAfterMs: 1000,
  })
}
