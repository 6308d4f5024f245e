/**
 * The hashes of the log, in memory: those of the entries and of every full tile above them.
 *
 *     level 2   ○                                    every 65 536 entries
 *     level 1   ○ ○ ○ …                              every 256
 *     level 0   • • • • • • • • • • • • …            every entry      32 bytes each: 32.1 MB for a million entries
 *
 * A tile is a stretch of one of these rows, so serving one copies nothing; nodes in between are hashed when a proof
 * asks for them.
 */
import { Frontier, HASH_BYTES, type Hash, type HashReader, TILE_WIDTH, type Tile, tileHashReader } from '@cairn/tlog'
import { BytesColumn } from './columns.ts'

/** Levels of the tree in one tile. */
const TILE_HEIGHT = Math.log2(TILE_WIDTH)

export class LogTree {
  readonly #frontier = new Frontier()
  readonly #levels: BytesColumn[] = [new BytesColumn(HASH_BYTES)]

  get size(): number {
    return this.#frontier.size
  }

  append(leaf: Hash): void {
    this.#frontier.append(leaf, ({ level }, hash) => {
      if (level % TILE_HEIGHT !== 0) return
      const row = level / TILE_HEIGHT
      const column = this.#levels[row] ?? new BytesColumn(HASH_BYTES)
      this.#levels[row] = column
      column.push(hash)
    })
  }

  /** The root over everything appended. */
  root(): Hash {
    return this.#frontier.root()
  }

  /** Hashes of entries, one after the other. */
  leaves(from: number, to: number): Uint8Array {
    return this.#level(0).slice(from, to)
  }

  /** The hashes of a tile; it must lie within the tree. */
  tile({ level, index, width }: Tile): Uint8Array {
    const row = level === 'entries' ? 0 : level
    return this.#level(row).slice(index * TILE_WIDTH, index * TILE_WIDTH + width)
  }

  /** Hashes of the tree as it was at `size`. */
  reader(size: number): HashReader {
    return tileHashReader(size, (tile) => this.tile(tile))
  }

  async rootAt(size: number): Promise<Hash> {
    return size === this.size ? this.root() : (await Frontier.read(size, this.reader(size))).root()
  }

  #level(row: number): BytesColumn {
    return this.#levels[row] ?? new BytesColumn(HASH_BYTES)
  }
}
