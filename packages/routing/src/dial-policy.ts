/**
 * Whom strangers may make us connect to. What the DHT and announcements teach us names public hosts only, unless the
 * publisher is one this node was configured with, or the node is a development one on loopback.
 */
import { classifyAddress } from '@cairn/platform'

export interface DialPolicyOptions {
  /** Peer ids this node was configured with: their word on their own addresses is taken. */
  readonly trusted?: ReadonlySet<string>
  /** For development and tests: loopback counts as public. Private networks still do not. */
  readonly allowLoopback?: boolean
}

/** Names that mean a host of ours or of the local network, whatever a resolver would say. */
const LOCAL_NAME = /(^|\.)(localhost|local|internal|intranet|lan|home|corp|arpa)\.?$/

export class DialPolicy {
  readonly #trusted: ReadonlySet<string>
  readonly #allowLoopback: boolean

  constructor({ trusted = new Set(), allowLoopback = false }: DialPolicyOptions = {}) {
    this.#trusted = trusted
    this.#allowLoopback = allowLoopback
  }

  /** Whether this publisher may send us to this URL. A name is judged again, by its addresses, when connecting. */
  allowsUrl(text: string, publisher: string): boolean {
    if (this.#trusted.has(publisher)) return true
    const url = URL.parse(text)
    if (url === null) return false
    const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
    return this.allowsHost(host)
  }

  trusts(publisher: string): boolean {
    return this.#trusted.has(publisher)
  }

  /** Whether a host that a stranger named is a public one. */
  allowsHost(host: string): boolean {
    const found = classifyAddress(host)
    if (found !== 'invalid') return this.allowsAddress(host)
    if (host === 'localhost' || host.endsWith('.localhost')) return this.#allowLoopback
    return host.includes('.') && !LOCAL_NAME.test(host)
  }

  /** Whether an address that a stranger named is a public one. */
  allowsAddress(address: string): boolean {
    const found = classifyAddress(address)
    return found === 'public' || (found === 'loopback' && this.#allowLoopback)
  }
}
