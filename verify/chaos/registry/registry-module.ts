/** The registry as it is, or with one line changed in it or in its store. */
import { loadService, type ServiceSources, type SourceMutant, withServiceMutant } from '../service-module.ts'

const REGISTRY: ServiceSources = { service: 'registry', packages: ['store'] }

export interface RegistryModule {
  readonly openParts: typeof import('../../../services/registry/src/parts.ts').openParts
  readonly runParts: typeof import('../../../services/registry/src/main.ts').runParts
}

export async function loadRegistry(): Promise<RegistryModule> {
  return await loadService(REGISTRY)
}

export async function withRegistryMutant<T>(
  mutant: SourceMutant,
  use: (registry: RegistryModule) => Promise<T>,
): Promise<T> {
  return await withServiceMutant(REGISTRY, mutant, use)
}
