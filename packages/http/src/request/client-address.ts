import type { Peer } from '@cairn/transport'
import { blockContains, type IpBlock, parseIp, parseIpBlock, toHex } from '@cairn/wire'

export function isLoopback(address: string): boolean {
  return address.startsWith('127.') || address === '::1' || address.startsWith('::ffff:127.')
}

/** Whether the peer is on this machine. */
export function isLocal({ kind, address }: Peer): boolean {
  return kind === 'unix' || isLoopback(address)
}

/** The blocks of the `trusted_proxies` setting; one that is not a block is a configuration error. */
export function proxyBlocks(blocks: readonly string[]): readonly IpBlock[] {
  return blocks.map((text) => {
    const block = parseIpBlock(text)
    if (block === undefined)
      throw new RangeError(`trusted_proxies: ${text} is not an address block such as 10.0.0.0/8.`)
    return block
  })
}

/** The address a trusted proxy vouches for: the last one in `X-Forwarded-For` that is not itself such a proxy. */
export function clientAddress(peer: string, forwardedFor: string | undefined, trusted: readonly IpBlock[]): string {
  if (forwardedFor === undefined || trusted.length === 0 || !isTrusted(peer, trusted)) return peer
  const hops = forwardedFor.split(',').map((hop) => hop.trim())
  return hops.findLast((hop) => !isTrusted(hop, trusted)) ?? peer
}

export function isTrusted(address: string, trusted: readonly IpBlock[]): boolean {
  const ip = parseIp(address)
  return ip !== undefined && trusted.some((block) => blockContains(block, ip))
}

/**
 * Returns what counts as one client: an IPv4 address, however it is written, or an IPv6 network of 64 bits, since a host
 * with one address of it has them all.
 */
export function clientGroup(address: string): string {
  const ip = parseIp(address)
  if (ip === undefined) return address
  if (ip.length === 4) return ip.join('.')
  return `${toHex(ip.subarray(0, 8))}/64`
}
