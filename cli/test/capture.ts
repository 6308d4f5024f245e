import type { Terminal } from '../src/terminal.ts'

/** A terminal nobody sees: what was written stays in it. */
export class Capture implements Terminal {
  data = ''
  words = ''
  readonly isWatched: boolean
  readonly isDataWatched: boolean
  readonly columns: number | undefined
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly ask: Terminal['ask']
  readonly #input: string

  constructor({
    isWatched = false,
    isDataWatched = false,
    columns,
    environment = {},
    input = '',
    answer,
  }: {
    isWatched?: boolean
    isDataWatched?: boolean
    columns?: number
    environment?: Readonly<Record<string, string | undefined>>
    input?: string
    /** What the person at the terminal says to a question. */
    answer?: string
  } = {}) {
    this.isWatched = isWatched
    this.isDataWatched = isDataWatched
    this.columns = columns
    this.environment = environment
    this.#input = input
    if (answer !== undefined)
      this.ask = async (question) => {
        this.words += question
        return await Promise.resolve(answer)
      }
  }

  readonly write = (text: string): void => {
    this.data += text
  }

  readonly say = (text: string): void => {
    this.words += text
  }

  async writeBytes(bytes: Uint8Array): Promise<void> {
    this.data += Buffer.from(bytes).toString('utf8')
    await Promise.resolve()
  }

  async *readBytes(): AsyncGenerator<Uint8Array> {
    yield await Promise.resolve(new TextEncoder().encode(this.#input))
  }

  async readInput(): Promise<string> {
    return await Promise.resolve(this.#input)
  }
}
