/**
 * Where the meaning of a name comes from, as the pipeline sees it: a verified view of the registry, or nobody.
 */
import type { Deadline, TaskBody, Watching } from '@cairn/kernel'
import type { Address } from '@cairn/wire'
import type { Meaning } from './facets-core.ts'
import type { LocalOverrides } from './local-overrides.ts'

// Every name this node knows, listed anew when one of them has changed.

export class NameCatalogue {
  readonly #names: FollowedNames | undefined
  readonly #overrides: LocalOverrides
  #listed: { readonly of: NamesVersion; readonly meanings: readonly Meaning[] } | undefined

  constructor(names: FollowedNames | undefined, overrides: LocalOverrides) {
    this.#names = names
    this.#overrides = overrides
  }

  meanings(): readonly Meaning[] {
    const of = namesVersion(this.#names, this.#overrides)
    if (this.#listed?.of !== of)
      this.#listed = { of, meanings: [...(this.#names?.meanings() ?? this.#overrides.names)] }
    return this.#listed.meanings
  }
}

/** What a source says about a name. */
export type NameAnswer =
  | {
      readonly tag: 'found'
      readonly address: Address
      /** The version of the registry that says so. */
      readonly version: number
      /** A proof file that anybody can verify without us. */
      readonly proof: Uint8Array
      /** How long ago the checkpoint was seen that the answer rests on. */
      readonly freshnessMs: number
    }
  /** The source knows that the name means nothing. */
  | { readonly tag: 'absent' }
  /** The source cannot tell now; the sentence says why. */
  | { readonly tag: 'unready'; readonly detail: string }

/** Another one once a name means something else. */
export type NamesVersion = number | ReadonlyMap<string, Address>

/** Of the source, or of the local names where there is none. */
export function namesVersion(source: NameSource | undefined, { names }: Pick<LocalOverrides, 'names'>): NamesVersion {
  return source?.changes.value ?? names
}

export interface NameSource {
  /** With `from`, the proof also shows that the log continues the tree of that size, which the asker has seen. */
  resolve(name: string, deadline: Deadline, signal?: AbortSignal, from?: number): Promise<NameAnswer>
  /** Grows whenever a name may mean something else than before: an answer kept from an earlier number is not used. */
  readonly changes: Watching<number>
}

/** A source that has to be kept up to date: the task `registry-follower` runs it, and it is closed after every task. */
export interface FollowedNames extends NameSource {
  readonly run: TaskBody
  /** Every name that means something now, and what. */
  meanings(): Iterable<readonly [name: string, address: Address]>
  /** For `/readyz`: how far it is, and what is wrong if something is. */
  readyFields(): Readonly<Record<string, unknown>>
  close(): Promise<void>
}
