/** Where a request may come from. It only ever turns away: what it lets through still has to be signed. */
import { blockContains, type IpBlock, parseIp, parseIpBlock } from '@cairn/wire'
import type { ProviderConfig } from './config.ts'
import type { Refused, WebhookRequest } from './provider.ts'
import { refused } from './signature.ts'

const HOST_HEADERS: readonly string[] = ['origin', 'x-forwarded-host']

/** A check of a request's hosts and address; undefined where nothing is restricted. */
export function originCheck(config: Pick<ProviderConfig, 'allowed_hosts' | 'allowed_cidrs'>) {
  const hosts = new Set(config.allowed_hosts)
  const blocks = config.allowed_cidrs.flatMap((text) => parseIpBlock(text) ?? [])
  if (hosts.size === 0 && blocks.length === 0) return undefined
  return (request: WebhookRequest): Refused | undefined => {
    if (hosts.size > 0 && !request.headers.every(([name, value]) => isAllowed(hosts, name, value))) {
      return refused('BAD_ORIGIN', 'The request names a host that this provider may not use.')
    }
    if (blocks.length > 0 && !comesFrom(blocks, request.peer)) {
      return refused('BAD_ORIGIN', 'The request comes from an address that this provider may not use.')
    }
    return undefined
  }
}

function isAllowed(hosts: ReadonlySet<string>, header: string, value: string): boolean {
  if (!HOST_HEADERS.includes(header)) return true
  return hosts.has(header === 'origin' ? (URL.parse(value)?.host ?? '') : value.toLowerCase())
}

function comesFrom(blocks: readonly IpBlock[], peer: string | undefined): boolean {
  const ip = peer === undefined ? undefined : parseIp(peer)
  return ip !== undefined && blocks.some((block) => blockContains(block, ip))
}
