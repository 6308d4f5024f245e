/**
 * Which addresses of the internet a stranger may make us connect to: public unicast, and nothing else.
 *
 *     text ─ strict parse ─▶ bytes ─ first block that holds it ─▶ class ─▶ public?
 *
 * IPv6 starts from the one block that is handed out as global unicast; IPv4 from everything. Forms that
 * carry another address inside (mapped, NAT64, 6to4, Teredo) are refused whatever they carry: the packet
 * would go where the inner address says.
 */
import { blockContains, type IpBlock, parseIp, parseIpBlock } from '@cairn/wire'

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

type Row = readonly [AddressClass, readonly IpBlock[]]

const IPV4_ROWS = rows(IPV4_BLOCKS)
const IPV6_ROWS = rows(IPV6_BLOCKS)
const IPV6_GLOBAL_BLOCKS = IPV6_GLOBAL.map(block)

function rows(table: Readonly<Partial<Record<AddressClass, readonly string[]>>>): readonly Row[] {
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
