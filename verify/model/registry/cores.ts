import type { Source } from '../suite.ts'

/** What the registry decides by, as modules, so that the same model runs on the real ones and on a broken copy. */
export interface RegistryCores {
  readonly decisions: typeof import('../../../services/registry/src/domain/decide-core.ts')
  readonly ledger: typeof import('../../../services/registry/src/domain/ledger.ts')
}

const FILES: Readonly<Record<keyof RegistryCores, string>> = {
  decisions: 'domain/decide-core.ts',
  ledger: 'domain/ledger.ts',
}

export const REGISTRY: Source<RegistryCores> = {
  directory: new URL('../../../services/registry/src/', import.meta.url),
  async load(directory) {
    const loaded = await Promise.all(
      Object.entries(FILES).map(async ([name, file]) => [
        name,
        (await import(new URL(file, directory).href)) as unknown,
      ]),
    )
    return Object.fromEntries(loaded) as RegistryCores
  },
}
