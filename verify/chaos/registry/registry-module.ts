/** The registry as it is, or with one line changed in it or in its store. */
import { serviceModule } from '../service-module.ts'

export interface RegistryModule {
  readonly openParts: typeof import('../../../services/registry/src/parts.ts').openParts
  readonly runParts: typeof import('../../../services/registry/src/main.ts').runParts
}

export const { load: loadRegistry, withMutant: withRegistryMutant } = serviceModule<RegistryModule>('registry', [
  'store',
])
