/** Every name this node knows, listed anew when one of them has changed. */
import type { Book } from './book.ts'
import type { Meaning } from './facets-core.ts'
import { type FollowedNames, type NamesVersion, namesVersion } from './name-source.ts'

export class Catalogue {
  readonly #names: FollowedNames | undefined
  readonly #book: Book
  #listed: { readonly of: NamesVersion; readonly meanings: readonly Meaning[] } | undefined

  constructor(names: FollowedNames | undefined, book: Book) {
    this.#names = names
    this.#book = book
  }

  meanings(): readonly Meaning[] {
    const of = namesVersion(this.#names, this.#book)
    if (this.#listed?.of !== of) this.#listed = { of, meanings: [...(this.#names?.meanings() ?? this.#book.names)] }
    return this.#listed.meanings
  }
}
