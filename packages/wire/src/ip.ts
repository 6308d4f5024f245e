/** IP addresses and blocks, for the `ip_cidr` caveat: parsed here because the platform's parser is not in a browser. */

export interface IpBlock {
  readonly bytes: Uint8Array
  readonly prefixBits: number
}

/** The 4 or 16 bytes of an address; an IPv4 address mapped into IPv6 is read as the IPv4 address it is. */
export function parseIp(text: string): Uint8Array | undefined {
  const bytes = text.includes(':') ? parseIpv6(text) : parseIpv4(text)
  const isMapped = bytes?.length === 16 && bytes.subarray(0, 12).every((byte, index) => byte === (index < 10 ? 0 : 255))
  return isMapped ? bytes.subarray(12) : bytes
}

function parseIpv4(text: string): Uint8Array | undefined {
  const parts = text.split('.')
  const isValid = parts.length === 4 && parts.every((part) => /^(?:0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256)
  return isValid ? Uint8Array.from(parts, Number) : undefined
}

function parseIpv6(text: string): Uint8Array | undefined {
  const halves = text.split('::')
  if (halves.length > 2) return undefined
  const head = groupsOf(halves[0] ?? '', halves.length === 1)
  const tail = groupsOf(halves[1] ?? '', true)
  if (head === undefined || tail === undefined) return undefined
  const missing = 16 - head.length - tail.length
  // Without "::" all 16 bytes are written out; with it at least one group is left out.
  if (halves.length === 1 ? missing !== 0 : missing < 2) return undefined
  return Uint8Array.from([...head, ...new Array<number>(missing).fill(0), ...tail])
}

/** The bytes of groups between colons; only the group that ends the address may be written as IPv4. */
function groupsOf(text: string, endsAddress: boolean): number[] | undefined {
  if (text === '') return []
  const bytes: number[] = []
  const groups = text.split(':')
  for (const [index, group] of groups.entries()) {
    if (group.includes('.') && endsAddress && index === groups.length - 1) {
      const ipv4 = parseIpv4(group)
      if (ipv4 === undefined) return undefined
      bytes.push(...ipv4)
    } else {
      if (!/^[0-9A-Fa-f]{1,4}$/.test(group)) return undefined
      const value = Number.parseInt(group, 16)
      bytes.push(value >>> 8, value & 0xff)
    }
  }
  return bytes
}

/** A block `address/bits` whose bits past the prefix are all zero. */
export function parseIpBlock(text: string): IpBlock | undefined {
  const [address = '', bits = '', ...rest] = text.split('/')
  const bytes = parseIp(address)
  if (bytes === undefined || rest.length > 0 || !/^(?:0|[1-9]\d{0,2})$/.test(bits)) return undefined
  // "::ffff:10.0.0.0/104" would count its bits from another origin than the address they apply to.
  if (address.includes(':') && bytes.length === 4) return undefined
  const prefixBits = Number(bits)
  if (prefixBits > 8 * bytes.length) return undefined
  const block = { bytes, prefixBits }
  return bytes.every((byte, index) => (byte & ~maskOf(block, index) & 0xff) === 0) ? block : undefined
}

/** Whether an address lies in a block of its own family. */
export function blockContains(block: IpBlock, ip: Uint8Array): boolean {
  if (ip.length !== block.bytes.length) return false
  return ip.every((byte, index) => (byte & maskOf(block, index)) === block.bytes[index])
}

function maskOf({ prefixBits }: IpBlock, index: number): number {
  const bits = Math.min(8, Math.max(0, prefixBits - 8 * index))
  return (0xff << (8 - bits)) & 0xff
}
