/** Interop as it is, or with one line changed in it, its mailbox or its store. */
import { serviceModule } from '../service-module.ts'

export interface InteropModule {
  readonly openParts: typeof import('../../../services/interop/src/parts.ts').openParts
  readonly runParts: typeof import('../../../services/interop/src/main.ts').runParts
}

export const { load: loadInterop, withMutant: withInteropMutant } = serviceModule<InteropModule>('interop', [
  'mailbox',
  'store',
])
