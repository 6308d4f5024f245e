import type { Source } from '../suite.ts'

/** The store's cores as modules, so that the same model runs on the real ones and on a broken copy. */
export interface StoreCores {
  readonly presence: typeof import('../../../packages/store/src/chunk/presence-core.ts')
  readonly leases: typeof import('../../../packages/store/src/chunk/lease-core.ts')
  readonly commit: typeof import('../../../packages/store/src/journal/commit-core.ts')
  readonly pins: typeof import('../../../packages/store/src/journal/pins-core.ts')
  readonly recovery: typeof import('../../../packages/store/src/journal/recovery-core.ts')
  readonly notes: typeof import('../../../packages/store/src/journal/synced-note-core.ts')
  readonly compaction: typeof import('../../../packages/store/src/compaction/compaction-core.ts')
  readonly holds: typeof import('../../../packages/store/src/object/holds-core.ts')
  readonly marks: typeof import('../../../packages/store/src/object/mark-core.ts')
  readonly sweep: typeof import('../../../packages/store/src/object/mark-core.ts')
}

const FILES: Readonly<Record<keyof StoreCores, string>> = {
  presence: 'chunk/presence-core.ts',
  leases: 'chunk/lease-core.ts',
  commit: 'journal/commit-core.ts',
  pins: 'journal/pins-core.ts',
  recovery: 'journal/recovery-core.ts',
  notes: 'journal/synced-note-core.ts',
  compaction: 'compaction/compaction-core.ts',
  holds: 'object/holds-core.ts',
  marks: 'object/mark-core.ts',
  sweep: 'object/mark-core.ts',
}

export const STORE: Source<StoreCores> = {
  directory: new URL('../../../packages/store/src/', import.meta.url),
  async load(directory) {
    const loaded = await Promise.all(
      Object.entries(FILES).map(async ([name, file]) => [
        name,
        (await import(new URL(file, directory).href)) as unknown,
      ]),
    )
    return Object.fromEntries(loaded) as StoreCores
  },
}
