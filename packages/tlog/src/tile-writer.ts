/**
 * Grows a tree leaf by leaf and says which tiles that makes.
 *
 *   append(leaf) ─→ Frontier ─→ every subtree of 256^k leaves it completes ─→ the growing tile of level k
 *                                                                              └─ 256 hashes: a full tile
 *
 * Nothing is hashed twice: the frontier computes the root over a full tile on its way up anyway.
 */

import { Frontier } from './frontier.ts'
import { HASH_BYTES, type Hash } from './hash.ts'
import type { HashReader, Node } from './range.ts'
import { TILE_HEIGHT, TILE_WIDTH, type Tile } from './tile.ts'

export interface TileContent {
  readonly tile: Tile
  readonly bytes: Uint8Array
}

export class TileWriter {
  readonly #frontier: Frontier
  /** The hashes of the growing tile of each level, 0 to 255 of them. */
  readonly #growing: Hash[][]

  private constructor(frontier: Frontier, growing: Hash[][]) {
    this.#frontier = frontier
    this.#growing = growing
  }

  /** The writer of an empty tree. */
  static empty(): TileWriter {
    return new TileWriter(new Frontier(), [])
  }

  /** The writer of a tree that is already there, ready for leaf `size`. */
  static async resume(size: number, read: HashReader): Promise<TileWriter> {
    const frontier = await Frontier.read(size, read)
    const growing: Hash[][] = []
    for (let level = 0, count = size; count > 0; level += 1, count = Math.floor(count / TILE_WIDTH)) {
      const hashes: Hash[] = []
      for (let index = count - (count % TILE_WIDTH); index < count; index += 1) {
        hashes.push(await read(level * TILE_HEIGHT, index))
      }
      growing.push(hashes)
    }
    return new TileWriter(frontier, growing)
  }

  get size(): number {
    return this.#frontier.size
  }

  root(): Hash {
    return this.#frontier.root()
  }

  /** The right edge alone, for whoever needs the root later but no tiles. */
  frontier(): Frontier {
    return this.#frontier.clone()
  }

  /** An independent writer of the same tree: what is appended to it can be thrown away. */
  clone(): TileWriter {
    return new TileWriter(
      this.#frontier.clone(),
      this.#growing.map((hashes) => [...hashes]),
    )
  }

  /** Adds a leaf; gives the tiles it makes full, lowest level first. Mostly there are none. */
  append(leaf: Hash): TileContent[] {
    const full: TileContent[] = []
    this.#frontier.append(leaf, (node, hash) => {
      if (node.level % TILE_HEIGHT === 0) full.push(...this.#place(node, hash))
    })
    return full
  }

  /** The partial tile of every level that has one: with all the full tiles so far, the whole tree. */
  partialTiles(): TileContent[] {
    return this.#growing.flatMap((hashes, level) =>
      hashes.length === 0 ? [] : [content(level, Math.floor(this.size / TILE_WIDTH ** (level + 1)), hashes)],
    )
  }

  #place({ level, index }: Node, hash: Hash): TileContent[] {
    const tileLevel = level / TILE_HEIGHT
    const hashes = this.#growing[tileLevel] ?? []
    this.#growing[tileLevel] = hashes
    hashes.push(hash)
    if (hashes.length < TILE_WIDTH) return []
    return [content(tileLevel, Math.floor(index / TILE_WIDTH), hashes.splice(0))]
  }
}

function content(level: number, index: number, hashes: readonly Hash[]): TileContent {
  const bytes = new Uint8Array(hashes.length * HASH_BYTES)
  hashes.forEach((hash, at) => {
    bytes.set(hash, at * HASH_BYTES)
  })
  return { tile: { level, index, width: hashes.length }, bytes }
}
