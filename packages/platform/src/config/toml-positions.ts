/**
 * Where each key and value of a TOML text stands. The parser tells places only of syntax errors, so this
 * walks the text once more, after the parser has accepted it, and need not judge anything.
 *
 *     [[edge.packs]]          edge, edge.packs, edge.packs.0
 *     name = "world"          edge.packs.0.name           key 2:1, value 2:8
 *     box = { west = 1 }      edge.packs.0.box, edge.packs.0.box.west
 */

export interface SourcePosition {
  readonly line: number
  readonly column: number
}

export interface KeyPosition {
  readonly key: SourcePosition
  /** The same as `key` for tables, which have no value of their own. */
  readonly value: SourcePosition
}

export type Path = readonly (string | number)[]

/** Places by path. */
export class TomlPositions {
  readonly #places = new Map<string, KeyPosition>()

  /** The first mention stays: a table is where it is first written. */
  note(path: Path, place: KeyPosition): void {
    const key = JSON.stringify(path)
    if (!this.#places.has(key)) this.#places.set(key, place)
  }

  at(path: Path): KeyPosition | undefined {
    return this.#places.get(JSON.stringify(path))
  }

  paths(): Path[] {
    return [...this.#places.keys()].map((key) => JSON.parse(key) as Path)
  }
}

/** The text is none that this can follow, though the parser took it: it takes `1979- 5-27` for a date, say. */
export class UnclearToml extends Error {
  readonly place: SourcePosition

  constructor(place: SourcePosition) {
    super('a key and = were expected here')
    this.place = place
  }
}

/** The places of everything in a text the parser has accepted; `UnclearToml` where it should not have. */
export function tomlPositions(text: string): TomlPositions {
  const scanner = new Scanner(text)
  scanner.document()
  return scanner.places
}

const BARE_KEY = /[A-Za-z0-9_-]+/y
const SPACE = /[ \t]*/y
/** Space, line ends and comments. */
const VOID = /(?:[ \t\r\n]+|#[^\n]*)*/y
const BASIC_STRING = /"(?:[^"\\]+|\\[^])*"/y
const LITERAL_STRING = /'[^']*'/y
/** A closing delimiter may be preceded by one or two quotes that belong to the string. */
const LONG_BASIC_STRING = /"""(?:[^"\\]+|\\[^]|"{1,2}(?!"))*"{3,5}/y
const LONG_LITERAL_STRING = /'''(?:[^']+|'{1,2}(?!'))*'{3,5}/y
/** Numbers, booleans, dates. A date may hold one space before its time. */
const PLAIN = /[^\s,\]}#]+(?: \d\d:[^\s,\]}#]+)?/y

class Scanner {
  readonly places = new TomlPositions()
  readonly #text: string
  readonly #lineStarts: number[]
  #at: number
  /** How many tables each array of tables has so far, by the path of the array. */
  readonly #tableCounts = new Map<string, number>()

  constructor(text: string) {
    this.#text = text
    this.#lineStarts = [0, ...Array.from(text.matchAll(/\n/g), (match) => match.index + 1)]
    this.#at = text.startsWith('\uFEFF') ? 1 : 0
  }

  document(): void {
    let table: Path = []
    for (this.#skip(VOID); this.#at < this.#text.length; this.#skip(VOID)) {
      if (this.#text[this.#at] === '[') table = this.#header()
      else this.#pair(table)
    }
  }

  /** `[a.b]` or `[[a.b]]`: the path that the pairs below it belong to. */
  #header(): Path {
    const isArray = this.#text.startsWith('[[', this.#at)
    this.#at += isArray ? 2 : 1
    const keys = this.#keys()
    this.#at += isArray ? 2 : 1
    let path: Path = []
    for (const [index, { name, place }] of keys.entries()) {
      path = [...path, name]
      this.places.note(path, { key: place, value: place })
      const array = JSON.stringify(path)
      if (isArray && index === keys.length - 1) this.#tableCounts.set(array, (this.#tableCounts.get(array) ?? 0) + 1)
      const count = this.#tableCounts.get(array)
      if (count === undefined) continue
      path = [...path, count - 1]
      this.places.note(path, { key: place, value: place })
    }
    return path
  }

  /** `a.b = value` */
  #pair(table: Path): void {
    const keys = this.#keys()
    if (this.#text[this.#at] !== '=') throw new UnclearToml(keys[0]?.place ?? this.#place())
    this.#at += 1
    this.#skip(SPACE)
    const value = this.#place()
    let path = table
    for (const [index, { name, place }] of keys.entries()) {
      path = [...path, name]
      this.places.note(path, { key: place, value: index === keys.length - 1 ? value : place })
    }
    this.#value(path)
  }

  /** A dotted key, up to the character after it and the space around it. */
  #keys(): { readonly name: string; readonly place: SourcePosition }[] {
    const keys: { name: string; place: SourcePosition }[] = []
    do {
      if (keys.length > 0) this.#at += 1
      this.#skip(SPACE)
      const place = this.#place()
      keys.push({ name: this.#key(), place })
      this.#skip(SPACE)
    } while (this.#text[this.#at] === '.')
    return keys
  }

  #key(): string {
    switch (this.#text.charAt(this.#at)) {
      case '"':
        return unescaped(this.#take(BASIC_STRING).slice(1, -1))
      case "'":
        return this.#take(LITERAL_STRING).slice(1, -1)
      default:
        return this.#take(BARE_KEY)
    }
  }

  #value(path: Path): void {
    switch (this.#text.charAt(this.#at)) {
      case '{':
        this.#inside('}', () => this.#pair(path))
        break
      case '[':
        this.#inside(']', (index) => {
          const place = this.#place()
          this.places.note([...path, index], { key: place, value: place })
          this.#value([...path, index])
        })
        break
      case '"':
        this.#take(this.#text.startsWith('"""', this.#at) ? LONG_BASIC_STRING : BASIC_STRING)
        break
      case "'":
        this.#take(this.#text.startsWith("'''", this.#at) ? LONG_LITERAL_STRING : LITERAL_STRING)
        break
      default:
        this.#take(PLAIN)
    }
  }

  /** What stands between a bracket and `end`, separated by commas. */
  #inside(end: string, element: (index: number) => void): void {
    this.#at += 1
    for (let index = 0; ; index += 1) {
      this.#skip(VOID)
      if (this.#text[this.#at] === end) break
      if (this.#at >= this.#text.length) throw new UnclearToml(this.#place())
      element(index)
      this.#skip(VOID)
      if (this.#text[this.#at] === ',') this.#at += 1
    }
    this.#at += 1
  }

  #skip(pattern: RegExp): void {
    pattern.lastIndex = this.#at
    pattern.exec(this.#text)
    this.#at = pattern.lastIndex
  }

  /** The text the pattern matches here. */
  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at
    const match = pattern.exec(this.#text)
    if (match === null) throw new UnclearToml(this.#place())
    this.#at = pattern.lastIndex
    return match[0]
  }

  #place(): SourcePosition {
    let low = 0
    for (let high = this.#lineStarts.length - 1; low < high; ) {
      const middle = (low + high + 1) >> 1
      if ((this.#lineStarts[middle] ?? 0) <= this.#at) low = middle
      else high = middle - 1
    }
    return { line: low + 1, column: this.#at - (this.#lineStarts[low] ?? 0) + 1 }
  }
}

const ESCAPES: Readonly<Record<string, string>> = { b: '\b', t: '\t', n: '\n', f: '\f', r: '\r', e: '\u001B' }

function unescaped(text: string): string {
  return text.replaceAll(/\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|x([0-9A-Fa-f]{2})|(.))/g, (...match: string[]) => {
    const [, short, long, byte, simple = ''] = match
    const code = short ?? long ?? byte
    return code === undefined ? (ESCAPES[simple] ?? simple) : String.fromCodePoint(Number.parseInt(code, 16))
  })
}
