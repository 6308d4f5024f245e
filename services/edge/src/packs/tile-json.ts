import type { TileFacts } from './pack-source.ts'

/** TileJSON 3.0.0 of a pack whose tiles are at `base/{z}/{x}/{y}`. */
export function tileJson(facts: TileFacts, base: string): Readonly<Record<string, unknown>> {
  const { name, attribution, description, vectorLayers, minZoom, maxZoom, bounds, center, format } = facts
  return {
    tilejson: '3.0.0',
    tiles: [`${base}/{z}/{x}/{y}.${format}`],
    minzoom: minZoom,
    maxzoom: maxZoom,
    bounds,
    center,
    scheme: 'xyz',
    ...(name === undefined ? {} : { name }),
    ...(attribution === undefined ? {} : { attribution }),
    ...(description === undefined ? {} : { description }),
    ...(format === 'mvt' ? { vector_layers: vectorLayers ?? [] } : {}),
  }
}
