import type { Source } from '../suite.ts'

/** The edge's cores as modules, so that the same model runs on the real ones and on a broken copy. */
export interface EdgeCores {
  readonly flights: typeof import('../../../services/edge/src/fill/flights-core.ts')
  readonly table: typeof import('../../../services/edge/src/cas/entry-table-core.ts')
}

export const EDGE: Source<EdgeCores> = {
  directory: new URL('../../../services/edge/src/', import.meta.url),
  async load(directory) {
    const flights: unknown = await import(new URL('fill/flights-core.ts', directory).href)
    const table: unknown = await import(new URL('cas/entry-table-core.ts', directory).href)
    return { flights, table } as EdgeCores
  },
}
