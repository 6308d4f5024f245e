/** One provider, opened from a configuration as a user writes it. */
import assert from 'node:assert/strict'
import { systemCrypto } from '@cairn/platform'
import type { z } from 'zod'
import { type ProviderName, providersSection } from '../../src/providers/config.ts'
import { openProviders } from '../../src/providers/open-providers.ts'
import type { RefusedVerification, Verification, Verified, WebhookProvider } from '../../src/providers/provider.ts'
import type { Secret } from '../../src/providers/secret.ts'

export function secret(text: string, notAfterMs?: number): Secret {
  return { id: `env:${text.slice(0, 12)}`, text, notAfterMs }
}

export function opened(
  name: ProviderName,
  secrets: readonly Secret[],
  more: z.input<typeof providersSection> = {},
): WebhookProvider {
  const config = providersSection.parse({ ...more, [name]: { ...more[name], enabled: true } })
  const provider = openProviders(config, new Map([[name, secrets]]), systemCrypto).get(name)
  assert.ok(provider !== undefined)
  return provider
}

export function isVerified(verification: Verification, note = ''): Verified {
  if (verification.tag === 'refused') assert.fail(`${note} refused: ${verification.reason} ${verification.detail}`)
  return verification
}

export function isRefused(
  verification: Verification,
  reason: RefusedVerification['reason'],
  note = 'the verdict',
): void {
  assert.equal(verification.tag === 'refused' ? verification.reason : 'verified', reason, note)
}
