/** What was typed after the name of a command, checked against its row. */
export class Given {
  readonly operands: readonly string[]
  readonly #values: ReadonlyMap<string, readonly string[]>

  constructor(operands: readonly string[], values: ReadonlyMap<string, readonly string[]>) {
    this.operands = operands
    this.#values = values
  }

  has(option: string): boolean {
    return this.#values.has(option)
  }

  /** The value given last. */
  text(option: string): string | undefined {
    return this.#values.get(option)?.at(-1)
  }

  /** Every value, in order. */
  texts(option: string): readonly string[] {
    return this.#values.get(option) ?? []
  }

  /** The same, as if these options had not been typed. */
  without(...options: readonly string[]): Given {
    const left = [...this.#values].filter(([name]) => !options.includes(name))
    return new Given(this.operands, new Map(left))
  }

  /** The same words again, as a shell takes them; an option of no value has none. */
  get line(): string {
    const options = [...this.#values].flatMap(([name, values]) =>
      values.map((value) => (value === '' ? ` --${name}` : ` --${name} ${shellWord(value)}`)),
    )
    return `${this.operands.map((word) => ` ${shellWord(word)}`).join('')}${options.join('')}`
  }
}

/** A word that a shell reads as this text. */
function shellWord(text: string): string {
  return /^[\w@%+=:,./…-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
