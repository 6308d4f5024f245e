/** What a name means and who holds an address, as the index says it. */
import { indexClient, type ProviderSet, type ProvidersOptions, type Resolution } from '@cairn/clients'
import { CairnError } from '@cairn/kernel'
import { parseAddress } from '@cairn/wire'
import type { AbortOptions } from './maintenance.ts'
import { type Belief, provenName } from './proof.ts'
import type { Services } from './services.ts'

export interface ResolveOptions extends AbortOptions, Belief {
  /** Past what the index keeps. */
  readonly fresh?: boolean
}

const NAME_PREFIX = 'name:'

/**
 * What `name:…` or `b3:…` means; `NotFound` if nobody knows. With a trust file or a pin the proof of a name is verified
 * here, and an answer without one, or with another meaning, is an `Integrity` error.
 */
export async function resolve(services: Services, key: string, options: ResolveOptions = {}): Promise<Resolution> {
  const { fresh = false, signal, ...belief } = options
  const { pin, trust } = belief
  const ask = { fresh, ...(pin === undefined ? {} : { from: pin.size }) }
  const found = await indexClient(services.caller('index')).resolve(key, ask, services.call(signal))
  if (found === undefined) throw new CairnError('NotFound', `${key} was not found.`)
  // An address proves itself, by the bytes that are there.
  const isProved = key.startsWith(NAME_PREFIX) && (pin ?? trust) !== undefined
  if (isProved) await requireProof(services, found, belief)
  return found
}

async function requireProof(services: Services, { key, manifest, proof }: Resolution, belief: Belief): Promise<void> {
  if (proof === undefined)
    throw new CairnError('Integrity', `The index proves nothing about ${key}.`, { code: 'no_proof' })
  const name = key.slice(NAME_PREFIX.length)
  const { finding } = await provenName(proof, name, belief, services.runtime.clock.wall())
  if (finding.item?.manifest !== manifest)
    throw new CairnError('Integrity', `The index says that ${key} means ${manifest}; its proof says otherwise.`)
}

/** Who holds the address, best first; nobody where none is known. */
export async function providers(
  services: Services,
  address: string,
  { signal, ...options }: AbortOptions & ProvidersOptions = {},
): Promise<ProviderSet> {
  return await indexClient(services.caller('index')).providers(parseAddress(address), options, services.call(signal))
}
