/** Secrets of providers: read where the configuration says they are, and tried as long as they count. */
import { CairnError } from '@cairn/kernel'
import { type Disk, type Platform, readSmallFile } from '@cairn/platform'
import { PROVIDER_NAMES, type ProviderName, type ProvidersConfig, type SecretReference } from './config.ts'

export interface Secret {
  /** Where it came from: `env:NAME` or `file:PATH`. */
  readonly id: string
  /** As it was written, without the end of its line. */
  readonly text: string
  /** Unix milliseconds; from then on it verifies nothing. */
  readonly notAfterMs: number | undefined
}

export type ProviderSecrets = ReadonlyMap<ProviderName, readonly Secret[]>

/** Where the secrets in use are and how long they count, without the secrets. */
export type SecretSources = ReadonlyMap<string, readonly Omit<Secret, 'text'>[]>

export function secretSources(secrets: ProviderSecrets): SecretSources {
  const places = (all: readonly Secret[]) => all.map(({ id, notAfterMs }) => ({ id, notAfterMs }))
  return new Map([...secrets].map(([name, all]) => [name, places(all)]))
}

type SecretPlatform = Pick<Platform, 'disk' | 'operatorDisk' | 'process'>

/** The secrets of every enabled provider. Throws `Malformed` for one that is missing or empty, naming where it should be. */
export async function readProviderSecrets(machine: SecretPlatform, config: ProvidersConfig): Promise<ProviderSecrets> {
  const secrets = new Map<ProviderName, readonly Secret[]>()
  for (const name of PROVIDER_NAMES) {
    const { enabled, secrets: references } = config[name]
    if (!enabled) continue
    if (references.length === 0) {
      throw misconfigured(`The provider ${name} is enabled without a secret; set interop.providers.${name}.secrets.`)
    }
    secrets.set(name, await Promise.all(references.map(async (reference) => await readSecretAt(machine, reference))))
  }
  return secrets
}

/** The secret a reference names. */
export async function readSecretAt(
  { disk, operatorDisk = disk, process }: SecretPlatform,
  reference: SecretReference,
): Promise<Secret> {
  const { env, file = '', not_after: notAfter } = reference
  const id = env === undefined ? `file:${file}` : `env:${env}`
  const text = env === undefined ? await readLine(operatorDisk, file) : process.environment[env]
  if (text === undefined || text === '') throw misconfigured(`There is no secret at ${id}; put one there.`)
  return { id, text, notAfterMs: notAfter === undefined ? undefined : Date.parse(notAfter) }
}

async function readLine(disk: Disk, path: string): Promise<string | undefined> {
  const bytes = await readSmallFile(disk, path)
  if (bytes === undefined) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes).replace(/\r?\n$/, '')
  } catch (cause) {
    throw new CairnError('Malformed', `The secret in ${path} is not UTF-8 text.`, { cause })
  }
}

/** A secret and the key it spells; made once, when a provider is opened. */
export interface SecretKey {
  readonly secret: Secret
  readonly bytes: Uint8Array
}

/** The keys that count at this time. */
export function activeKeys<K extends SecretKey>(keys: readonly K[], nowMs: number): K[] {
  return keys.filter(({ secret: { notAfterMs } }) => notAfterMs === undefined || nowMs < notAfterMs)
}

/** The key of a secret that is used as the text it is. */
export function textKey(secret: Secret): SecretKey {
  return { secret, bytes: new TextEncoder().encode(secret.text) }
}

export function misconfigured(detail: string): CairnError {
  return new CairnError('Malformed', detail, { code: 'bad_provider' })
}
