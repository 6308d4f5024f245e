/** What every read is answered from: made once for each batch, never changed. */
import type { State } from '@cairn/names'
import type { VersionFacts } from './versions.ts'

export interface Published {
  readonly head: VersionFacts
  readonly state: State
  /** Entries the checkpoint covers. */
  readonly size: number
  /** The signed note. */
  readonly note: Uint8Array
  /** Unix milliseconds of its cosignature. */
  readonly timedAt: number
  /** Entries below it were removed by retention. */
  readonly minimumIndex: number
  /** The answer to `GET /registry/head`. */
  readonly headBody: Uint8Array
  readonly headTag: string
}

export type PublishedFacts = Omit<Published, 'headBody' | 'headTag'>

export function publish(origin: string, facts: PublishedFacts): Published {
  const { head, minimumIndex } = facts
  const body = { ...head, origin, minimum_index: minimumIndex }
  return {
    ...facts,
    headBody: new TextEncoder().encode(JSON.stringify(body)),
    headTag: `"${head.version}-${head.hash.slice('b3:'.length, 'b3:'.length + 16)}-${minimumIndex}"`,
  }
}
