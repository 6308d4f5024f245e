import type { Source } from '../suite.ts'

/** What the index decides by, as modules, so that the same model runs on the real ones and on a broken copy. */
export interface IndexCores {
  readonly lookup: typeof import('../../../services/index/src/domain/hedged-lookup-core.ts')
  readonly cache: typeof import('../../../services/index/src/domain/cache-core.ts')
}

const FILES: Readonly<Record<keyof IndexCores, string>> = {
  lookup: 'domain/hedged-lookup-core.ts',
  cache: 'domain/cache-core.ts',
}

export const INDEX: Source<IndexCores> = {
  directory: new URL('../../../services/index/src/', import.meta.url),
  async load(directory) {
    const loaded = await Promise.all(
      Object.entries(FILES).map(async ([name, file]) => [
        name,
        (await import(new URL(file, directory).href)) as unknown,
      ]),
    )
    return Object.fromEntries(loaded) as IndexCores
  },
}
