/**
 * Where a tile stands in the order of the archive: all tiles of lower zooms, then its place on the Hilbert curve.
 *
 *     zoom 1:   0,0 → 0,1 → 1,1 → 1,0     ids 1 2 3 4, after the one tile of zoom 0
 */
import { ZOOM_MAX } from '../pack.ts'

/** The id of the first tile of a zoom: (4^z − 1) / 3. */
function firstIdOf(zoom: number): number {
  return (4 ** zoom - 1) / 3
}

/** How many ids there are up to and including this zoom. */
export function idsThrough(zoom: number): number {
  return firstIdOf(zoom + 1)
}

/** The id of a tile that can exist (`isTilePlace`). Plain numbers: below 2^53 even at the deepest zoom. */
export function tileId(z: number, x: number, y: number): number {
  let [column, row, distance] = [x, y, 0]
  for (let side = 2 ** z / 2; side >= 1; side /= 2) {
    const right = Math.floor(column / side) % 2
    const below = Math.floor(row / side) % 2
    distance += side * side * (right === 1 ? 3 - below : below)
    ;[column, row] = turned(side, column, row, right, below)
  }
  return firstIdOf(z) + distance
}

/** The tile of an id; the inverse of `tileId`. */
export function tileOf(id: number): { readonly z: number; readonly x: number; readonly y: number } {
  let z = 0
  while (z < ZOOM_MAX && id >= firstIdOf(z + 1)) z += 1
  let [x, y, rest] = [0, 0, id - firstIdOf(z)]
  for (let side = 1; side < 2 ** z; side *= 2) {
    const right = Math.floor(rest / 2) % 2
    const below = right === 1 ? 1 - (rest % 2) : rest % 2
    ;[x, y] = turned(side, x, y, right, below)
    x += side * right
    y += side * below
    rest = Math.floor(rest / 4)
  }
  return { z, x, y }
}

/** Within a quarter of the curve the axes are swapped, and in one of them also reversed. */
function turned(side: number, x: number, y: number, right: number, below: number): [number, number] {
  if (below === 1) return [x, y]
  const [column, row] = right === 1 ? [side - 1 - (x % side), side - 1 - (y % side)] : [x, y]
  return [row, column]
}
