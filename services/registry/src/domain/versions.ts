import type { Place } from '@cairn/store'
import { type Address, addressFromDigest, digestOf } from '@cairn/wire'
import { BytesColumn, NumberColumn } from './columns.ts'
import { Places } from './places.ts'

/** What is told of a version without reading its artifact. */
export interface VersionFacts {
  readonly version: number
  readonly hash: Address
  readonly payload_b3: Address
  readonly log_index: number
  /** Unix milliseconds. */
  readonly committed_at: number
}

const DIGEST_BYTES = 32

/** Every version there ever was, about a hundred bytes each. */
export class Versions {
  /** Where the artifacts lie. */
  readonly artifacts = new Places()
  readonly #hashes = new BytesColumn(DIGEST_BYTES)
  readonly #payloads = new BytesColumn(DIGEST_BYTES)
  readonly #logIndexes = new NumberColumn()
  readonly #committedAt = new NumberColumn()

  get count(): number {
    return this.#hashes.length
  }

  push(facts: VersionFacts, place: Place | undefined): void {
    this.#hashes.push(digestOf(facts.hash))
    this.#payloads.push(digestOf(facts.payload_b3))
    this.#logIndexes.push(facts.log_index)
    this.#committedAt.push(facts.committed_at)
    this.artifacts.push(place)
  }

  facts(version: number): VersionFacts {
    return {
      version,
      hash: addressFromDigest(this.#hashes.at(version)),
      payload_b3: addressFromDigest(this.#payloads.at(version)),
      log_index: this.#logIndexes.at(version),
      committed_at: this.#committedAt.at(version),
    }
  }
}
