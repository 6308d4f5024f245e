/**
 * What was asked of a registry and what it said, as lines that outlive it.
 *
 *     asked p ── committed p 7 ──╳ crash        p is version 7, whatever happens
 *     asked q ──────────────────╳               q is committed once, or not at all
 *     refused q                                 q never is
 *     signed 12 root                            no other root is ever signed for 12 entries
 */

export type Mark =
  | { readonly tag: 'proposed'; readonly proposal: string; readonly index: number }
  | { readonly tag: 'approved'; readonly proposal: string; readonly signer: string; readonly index: number }
  /** That it be committed. */
  | { readonly tag: 'asked'; readonly proposal: string }
  | { readonly tag: 'committed'; readonly proposal: string; readonly version: number; readonly hash: string }
  /** For good: what it would change has changed. */
  | { readonly tag: 'refused'; readonly proposal: string }
  | { readonly tag: 'noted'; readonly index: number; readonly count: number }
  /** HEAD as somebody read it. */
  | { readonly tag: 'head'; readonly version: number; readonly hash: string }
  /** A checkpoint somebody read. */
  | { readonly tag: 'checkpoint'; readonly size: number; readonly root: string }
  /** A root that a key of the log was used for, seen by anybody or not. */
  | { readonly tag: 'signed'; readonly size: number; readonly root: string }

export type MarkSink = (mark: Mark) => void

export function encodeMark(mark: Mark): string {
  return JSON.stringify(mark)
}

/** The mark a line spells; nothing if it is another line. */
export function decodeMark(line: string): Mark | undefined {
  return line.startsWith('{"tag":') && line.endsWith('}') ? (JSON.parse(line) as Mark) : undefined
}

/** Throws if two roots were signed for one size. */
export class SignedRoots {
  readonly #roots = new Map<number, string>()

  get sizes(): number {
    return this.#roots.size
  }

  note(size: number, root: string): void {
    const before = this.#roots.get(size)
    if (before !== undefined && before !== root)
      throw new Error(`Two roots were signed for ${size} entries: ${before} and ${root}.`)
    this.#roots.set(size, root)
  }

  *[Symbol.iterator](): Generator<readonly [number, string]> {
    yield* this.#roots
  }
}
