/** Which URLs may be fetched on somebody's behalf. The addresses behind them are checked again when connecting. */
import { CairnError } from '@cairn/kernel'
import { type AddressClass, classifyAddress } from './address.ts'

export interface UrlPolicyOptions {
  /**
   * Hosts, each with a port where it is not 443. No wildcards: a subdomain is another host. `any` is every host with a
   * public address, for what strangers name.
   */
  readonly allow: readonly string[] | 'any'
  /** For tests: plain HTTP, and loopback addresses, for hosts that are allowed. Nothing else is loosened. */
  readonly devAllowLoopbackHttp?: boolean
}

export class UrlPolicy {
  /** Every host where undefined. */
  readonly #allowed: ReadonlySet<string> | undefined
  readonly #loopbackHttp: boolean

  /** Throws `Malformed` for an entry that is not a host, or a host and a port. */
  constructor({ allow, devAllowLoopbackHttp = false }: UrlPolicyOptions) {
    this.#allowed = allow === 'any' ? undefined : new Set(allow.map(hostAndPort))
    this.#loopbackHttp = devAllowLoopbackHttp
  }

  /** Throws `RejectPolicy` unless the URL may be fetched. */
  check(url: URL): void {
    const isHttp = url.protocol === 'http:' && this.#loopbackHttp
    if (url.protocol !== 'https:' && !isHttp) throw refused(`${url.protocol}// is not fetched; use https://`)
    if (url.username !== '' || url.password !== '') throw refused('the URL holds credentials')
    const target = `${url.hostname}:${effectivePort(url)}`
    if (this.#allowed?.has(target) === false) throw refused(`${target} is not in the list of allowed hosts`)
    const literal = addressLiteral(url)
    if (literal !== undefined) this.checkAddress(literal, url.protocol)
  }

  /** Throws `RejectPolicy` unless this address may be connected to for a URL of this scheme. */
  checkAddress(address: string, protocol: string): void {
    const found = classifyAddress(address)
    if (!this.#allowsClass(found, protocol)) throw refused(`${address} is not a public address (${found})`)
  }

  #allowsClass(found: AddressClass, protocol: string): boolean {
    if (found === 'loopback') return this.#loopbackHttp
    return found === 'public' && protocol === 'https:'
  }
}

function refused(why: string): CairnError {
  return new CairnError('RejectPolicy', `This target is not fetched: ${why}.`, { code: 'not_allowed' })
}

/** An entry of the list in the form URLs are compared in: IDNA, lower case, with its port. */
function hostAndPort(entry: string): string {
  // Everything a URL parser would take for something other than host and port, or quietly drop.
  const url = /[\s/\\?#@%*]/.test(entry) ? null : URL.parse(`https://${entry}`)
  if (url === null || url.hostname === '' || url.hostname.endsWith('.')) {
    throw new CairnError('Malformed', `${JSON.stringify(entry)} is not a host; write "name" or "name:port".`)
  }
  return `${url.hostname}:${effectivePort(url)}`
}

function effectivePort(url: URL): string {
  if (url.port !== '') return url.port
  return url.protocol === 'https:' ? '443' : '80'
}

/** The address a URL's host spells, if it is one; the URL parser has read every spelling it knows already. */
function addressLiteral(url: URL): string | undefined {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  return classifyAddress(host) === 'invalid' ? undefined : host
}

/**
 * The URL of `path` below `base`, joined as text and then checked: whatever the path holds, the result has the
 * origin of the base and stays below its path. Throws `Malformed` otherwise.
 */
export function joinUrl(base: URL, path: string): URL {
  // Not `origin`, which is the same for all Unix sockets.
  const origin = `${base.protocol}//${base.host}`
  const root = `${origin}${base.pathname.replace(/\/*$/, '/')}`
  const joined = URL.parse(root + path)
  const isBelow = joined?.host === base.host && joined.href.startsWith(root)
  if (!isBelow || joined.username !== '' || joined.hash !== '') {
    throw new CairnError('Malformed', `${JSON.stringify(path)} does not stay below ${root}.`)
  }
  return joined
}
