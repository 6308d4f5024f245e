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
}
