/** The pipeline's checks of a request's target, host and framing: each passes or throws the refusal. */
import { CairnError } from '@cairn/kernel'
import { normalisePath } from '@cairn/wire'
import type { RequestHeaders } from './request-headers.ts'

export interface RequestTarget {
  /** In normal form: nothing downstream sees another spelling. */
  readonly path: string
  /** Without `?`; empty when there is none. */
  readonly query: string
  /** Only in absolute form, `GET http://host/path`. */
  readonly authority: string | undefined
}

const ABSOLUTE_FORM = /^https?:\/\/([^/?#]*)([^?#]*)(?:\?(.*))?$/i

/** Refuses every path that two readers could understand differently. */
function parseTarget(target: string): RequestTarget {
  if (target.startsWith('/')) {
    const mark = target.indexOf('?')
    const path = mark === -1 ? target : target.slice(0, mark)
    return { path: plainPath(path), query: mark === -1 ? '' : target.slice(mark + 1), authority: undefined }
  }
  const [, authority, path = '', query = ''] = ABSOLUTE_FORM.exec(target) ?? []
  if (authority === undefined)
    throw new CairnError('Malformed', 'The request target must be a path that starts with /.')
  return { path: plainPath(path === '' ? '/' : path), query, authority }
}

/** Paths that are their own normal form, and obviously so: plain segments, none empty or led by a dot, no escapes. */
const PLAIN = /^(?:\/[A-Za-z0-9_~!$&'()*+,;=:@-][A-Za-z0-9._~!$&'()*+,;=:@-]*)+$/

function plainPath(path: string): string {
  const plain = PLAIN.test(path) ? path : normalisePath(path)
  if (plain !== undefined) return plain
  throw new CairnError(
    'Malformed',
    'The path holds //, a dot segment, an encoded / \\ . or NUL, or a character no path may hold; send it in plain form.',
    { code: 'bad_path' },
  )
}

/** The names by which clients on this machine reach us. */
const LOOPBACK_HOSTS: readonly string[] = ['127.0.0.1', '[::1]', 'localhost']

const AUTHORITY = /^(\[[0-9a-f:.]+\]|[a-z0-9._~-]+)(?::\d{1,5})?$/i

/**
 * The host names we answer to. A page of another site can make a browser resolve its own name to our
 * address; it cannot make the browser send our name.
 */
export class HostNames {
  readonly #exact: ReadonlySet<string>
  /** `.localhost` for `*.localhost`. */
  readonly #suffixes: readonly string[]
  /** The last authority that was ours: a client sends the same one with every request. */
  #last = { authority: '', host: '' }

  /** `names` beside the loopback ones; `*.name` stands for every name below it. */
  constructor(names: readonly string[]) {
    const all = [...LOOPBACK_HOSTS, ...names.map((name) => name.toLowerCase())]
    this.#exact = new Set(all.filter((name) => !name.startsWith('*.')))
    this.#suffixes = all.filter((name) => name.startsWith('*.')).map((name) => name.slice(1))
  }

  /** The host of an authority, lower case and without port, if it is ours. Any port is: it may be forwarded. */
  ours(authority: string): string | undefined {
    if (authority !== '' && authority === this.#last.authority) return this.#last.host
    const host = AUTHORITY.exec(authority)?.[1]?.toLowerCase()
    if (host === undefined || !this.#isOurs(host)) return undefined
    this.#last = { authority, host }
    return host
  }

  #isOurs(host: string): boolean {
    if (this.#exact.has(host)) return true
    return this.#suffixes.some((suffix) => host.length > suffix.length && host.endsWith(suffix))
  }
}

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

/** Reads the target, and checks that its host is one of ours; the returned host is the one the client used. */
export function readTarget(
  target: string,
  headers: RequestHeaders,
  hosts: HostNames,
): { target: RequestTarget; host: string } {
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
