/** What a request line asks for, and whether it asks us. */
import { CairnError } from '@cairn/kernel'
import { normalisePath } from '@cairn/wire'

export interface Target {
  /** In normal form: nothing downstream sees another spelling. */
  readonly path: string
  /** Without `?`; empty when there is none. */
  readonly query: string
  /** Only in absolute form, `GET http://host/path`. */
  readonly authority: string | undefined
}

const ABSOLUTE_FORM = /^https?:\/\/([^/?#]*)([^?#]*)(?:\?(.*))?$/i

/** Refuses every path that two readers could understand differently. */
export function parseTarget(target: string): Target {
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

/** Names anybody on this machine reaches us by. */
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
