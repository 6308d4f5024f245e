/** Interop as it is, or with one line changed in it, its mailbox or its store. */
import { loadService, type ServiceSources, type SourceMutant, withServiceMutant } from '../service-module.ts'

const INTEROP: ServiceSources = { service: 'interop', packages: ['mailbox', 'store'] }

export interface InteropModule {
  readonly openParts: typeof import('../../../services/interop/src/parts.ts').openParts
  readonly runParts: typeof import('../../../services/interop/src/main.ts').runParts
}

export async function loadInterop(): Promise<InteropModule> {
  return await loadService(INTEROP)
}

export async function withInteropMutant<T>(
  mutant: SourceMutant,
  use: (interop: InteropModule) => Promise<T>,
): Promise<T> {
  return await withServiceMutant(INTEROP, mutant, use)
}
