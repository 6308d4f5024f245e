import type { Crypto } from '@cairn/platform'
import { blockContains, type IpBlock, parseIp, parseIpBlock } from '@cairn/wire'
import { PROVIDER_NAMES, type ProviderConfig, type ProviderName, type ProvidersConfig } from './config.ts'
import { genericProvider } from './generic.ts'
import { githubProvider } from './github.ts'
import type { RefusedVerification, WebhookProvider, WebhookRequest } from './provider.ts'
import type { ProviderSecrets, Secret } from './secret.ts'
import { refused } from './signature.ts'
import { slackProvider } from './slack.ts'
import { standardProvider } from './standard.ts'
import { stripeProvider } from './stripe.ts'

// Where a request may come from. It only ever turns away: what it lets through still has to be signed.

const HOST_HEADERS: readonly string[] = ['origin', 'x-forwarded-host']

/** A check of a request's hosts and address; undefined where nothing is restricted. */
function originCheck(config: Pick<ProviderConfig, 'allowed_hosts' | 'allowed_cidrs'>) {
  const hosts = new Set(config.allowed_hosts)
  const blocks = config.allowed_cidrs.flatMap((text) => parseIpBlock(text) ?? [])
  if (hosts.size === 0 && blocks.length === 0) return undefined
  return (request: WebhookRequest): RefusedVerification | undefined => {
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

/** The enabled providers by name. Throws `Malformed` for a secret that is not of the provider's form. */
export function openProviders(
  config: ProvidersConfig,
  secrets: ProviderSecrets,
  crypto: Crypto,
): ReadonlyMap<string, WebhookProvider> {
  const enabled = PROVIDER_NAMES.filter((name) => config[name].enabled)
  return new Map(
    enabled.map((name) => {
      const provider = open(name, config, secrets.get(name) ?? [], crypto)
      const check = originCheck(config[name])
      if (check === undefined) return [name, provider]
      return [name, { ...provider, verify: (request) => check(request) ?? provider.verify(request) }]
    }),
  )
}

function open(
  name: ProviderName,
  config: ProvidersConfig,
  secrets: readonly Secret[],
  crypto: Crypto,
): WebhookProvider {
  const { max_body_bytes: maxBodyBytes } = config[name]
  switch (name) {
    case 'github':
      return githubProvider(crypto, secrets, maxBodyBytes)
    case 'slack':
      return slackProvider(crypto, secrets, maxBodyBytes)
    case 'stripe':
      return stripeProvider(crypto, secrets, maxBodyBytes)
    case 'standard':
      return standardProvider(crypto, secrets, maxBodyBytes)
    case 'generic':
      return genericProvider(crypto, secrets, config.generic)
  }
}
