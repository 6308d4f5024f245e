import type { Source } from '../suite.ts'

/** What storage believes of its peers and does about it, as modules, real or broken. */
export interface StorageCores {
  readonly belief: typeof import('../../../services/storage/src/targets/belief-core.ts')
  readonly repair: typeof import('../../../services/storage/src/repair/repair-core.ts')
}

const FILES: Readonly<Record<keyof StorageCores, string>> = {
  belief: 'targets/belief-core.ts',
  repair: 'repair/repair-core.ts',
}

export const STORAGE: Source<StorageCores> = {
  directory: new URL('../../../services/storage/src/', import.meta.url),
  async load(directory) {
    const loaded = await Promise.all(
      Object.entries(FILES).map(async ([name, file]) => [
        name,
        (await import(new URL(file, directory).href)) as unknown,
      ]),
    )
    return Object.fromEntries(loaded) as StorageCores
  },
}
