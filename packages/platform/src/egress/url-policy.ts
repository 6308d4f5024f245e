/** Which URLs and addresses strangers may make us fetch. The addresses are checked again when connecting. */
import { CairnError } from '@cairn/kernel'
import { blockContains, type IpBlock, parseIp, parseIpBlock } from '@cairn/wire'

/*
 * Addresses: public unicast may be connected to, and nothing else.
 *
 *     text ─ strict parse ─▶ bytes ─ first block that holds it ─▶ class ─▶ public?
 *
 * IPv6 starts from the one block that is handed out as global unicast; IPv4 from everything. Forms that
 * carry another address inside (mapped, NAT64, 6to4, Teredo) are refused whatever they carry: the packet
 * would go where the inner address says.
 */

/** The first row that holds an address decides, so the narrower of two rows stands first. */
const IPV4_BLOCKS = {
  unspecified: ['0.0.0.0/8'],
  loopback: ['127.0.0.0/8'],
  private: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'],
  shared: ['100.64.0.0/10'],
  'link-local': ['169.254.0.0/16'],
  documentation: ['192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24'],
  protocol: ['192.0.0.0/24'],
  '6to4': ['192.88.99.0/24'],
  benchmark: ['198.18.0.0/15'],
  multicast: ['224.0.0.0/4'],
  reserved: ['240.0.0.0/4'],
} as const satisfies Record<string, readonly string[]>

const IPV6_BLOCKS = {
  unspecified: ['::/128'],
  loopback: ['::1/128'],
  compatible: ['::/96'],
  nat64: ['64:ff9b::/96', '64:ff9b:1::/48'],
  discard: ['100::/64'],
  teredo: ['2001::/32'],
  benchmark: ['2001:2::/48'],
  documentation: ['2001:db8::/32', '3fff::/20'],
  protocol: ['2001::/23'],
  '6to4': ['2002::/16'],
  'unique-local': ['fc00::/7'],
  'link-local': ['fe80::/10'],
  'site-local': ['fec0::/10'],
  multicast: ['ff00::/8'],
} as const satisfies Record<string, readonly string[]>

/** What is handed out as global unicast; the rest of IPv6 is not to be routed yet. */
const IPV6_GLOBAL = ['2000::/3'] as const

export type AddressClass =
  | 'public'
  | 'mapped'
  | 'reserved'
  | 'invalid'
  | keyof typeof IPV4_BLOCKS
  | keyof typeof IPV6_BLOCKS

type BlockRow = readonly [AddressClass, readonly IpBlock[]]

const IPV4_ROWS = rows(IPV4_BLOCKS)
const IPV6_ROWS = rows(IPV6_BLOCKS)
const IPV6_GLOBAL_BLOCKS = IPV6_GLOBAL.map(block)

function rows(table: Readonly<Partial<Record<AddressClass, readonly string[]>>>): readonly BlockRow[] {
  return Object.entries(table).map(([name, texts]) => [name as AddressClass, texts.map(block)])
}

function block(text: string): IpBlock {
  const parsed = parseIpBlock(text)
  if (parsed === undefined) throw new TypeError(`${text} is not an address block.`)
  return parsed
}

/** What an address is for; `invalid` for anything but one address in its plain form (no zone, no octal, no port). */
export function classifyAddress(text: string): AddressClass {
  const bytes = parseIp(text)
  if (bytes === undefined) return 'invalid'
  // The parser reads ::ffff:1.2.3.4 as 1.2.3.4.
  if (bytes.length === 4 && text.includes(':')) return 'mapped'
  const table = bytes.length === 4 ? IPV4_ROWS : IPV6_ROWS
  const found = table.find(([, blocks]) => blocks.some((candidate) => blockContains(candidate, bytes)))
  if (found !== undefined) return found[0]
  if (bytes.length === 4) return 'public'
  return IPV6_GLOBAL_BLOCKS.some((candidate) => blockContains(candidate, bytes)) ? 'public' : 'reserved'
}

/** Whether the address is one host on the public internet. */
export function isPublicUnicast(address: string): boolean {
  return classifyAddress(address) === 'public'
}

/** Whether two spellings are the same address. */
export function sameAddress(a: string, b: string): boolean {
  const [left, right] = [parseIp(a), parseIp(b)]
  if (left === undefined || right === undefined || left.length !== right.length) return false
  return left.every((byte, index) => byte === right[index])
}

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
