/** The one place that writes to the standard streams and reads from them. */
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { styleText } from 'node:util'

export interface Terminal {
  /** Data. Whatever is not data goes to `say`. */
  write(text: string): void
  /** Data that is not text; resolves when there is room for more. */
  writeBytes(bytes: Uint8Array): Promise<void>
  /** Messages, progress, screens. */
  say(text: string): void
  /** Somebody reads the messages as they come. */
  readonly isWatched: boolean
  /** Somebody reads the data as it comes. */
  readonly isDataWatched: boolean
  /** How wide the messages may be; undefined where nobody knows. */
  readonly columns: number | undefined
  readonly environment: Readonly<Record<string, string | undefined>>
  readInput(): Promise<string>
  /** Asks the person at the terminal; undefined where there is none. */
  readonly ask: ((question: string) => Promise<string>) | undefined
  /** Standard input as it comes. */
  readBytes(): AsyncIterable<Uint8Array>
}

export type Mark = 'good' | 'bad' | 'open'

const MARKS = { good: ['green', '✔'], bad: ['red', '✖'], open: ['yellow', '…'] } as const

export function systemTerminal(): Terminal {
  // A reader that has seen enough (`| head -1`) closes the pipe; that is no error of ours.
  process.stdout.on('error', () => undefined)
  process.stderr.on('error', () => undefined)
  return {
    write: (data) => {
      process.stdout.write(data)
    },
    writeBytes: async (bytes) => {
      try {
        if (!process.stdout.write(bytes)) await once(process.stdout, 'drain')
      } catch (cause) {
        throw await outputClosed(cause)
      }
      if (process.stdout.destroyed) throw await outputClosed()
    },
    say: (message) => {
      process.stderr.write(message)
    },
    isWatched: process.stderr.isTTY,
    isDataWatched: process.stdout.isTTY,
    columns: process.stderr.isTTY ? process.stderr.columns : undefined,
    environment: process.env,
    readInput: async () => await text(process.stdin),
    ask: process.stdin.isTTY && process.stderr.isTTY ? askAtTerminal : undefined,
    readBytes: () => process.stdin,
  }
}

async function askAtTerminal(question: string): Promise<string> {
  const { createInterface } = await import('node:readline/promises')
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return await lines.question(question)
  } finally {
    lines.close()
  }
}

/** Nobody reads the bytes any more, so nobody needs to fetch them. */
async function outputClosed(cause?: unknown): Promise<Error> {
  // Loaded here, since the help needs no class of error.
  const { CairnError } = await import('@cairn/kernel')
  return new CairnError('Canceled', 'Standard output was closed before the end.', { cause })
}

/** A mark, in colour where the stream is a terminal and nobody asked for none. */
export function mark(kind: Mark, isColoured: boolean): string {
  const [colour, sign] = MARKS[kind]
  return isColoured ? styleText(colour, sign, { validateStream: false }) : sign
}
