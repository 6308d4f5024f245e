import type { Crypto } from '@cairn/platform'
import { PROVIDER_NAMES, type ProviderName, type ProvidersConfig } from './config.ts'
import { genericProvider } from './generic.ts'
import { githubProvider } from './github.ts'
import { originCheck } from './origin.ts'
import type { Provider } from './provider.ts'
import type { ProviderSecrets, Secret } from './secret.ts'
import { slackProvider } from './slack.ts'
import { standardProvider } from './standard.ts'
import { stripeProvider } from './stripe.ts'

/** The enabled providers by name. Throws `Malformed` for a secret that is not of the provider's form. */
export function openProviders(
  config: ProvidersConfig,
  secrets: ProviderSecrets,
  crypto: Crypto,
): ReadonlyMap<string, Provider> {
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

function open(name: ProviderName, config: ProvidersConfig, secrets: readonly Secret[], crypto: Crypto): Provider {
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
