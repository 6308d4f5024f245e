/** What a liar has heard, to be told again in the wrong place. */
import { decodeStatement, type SignedStatement } from '@cairn/wire'

const SEEN_MAX = 1024

/** What a liar knows of the world around it. */
export class LiarMemory {
  /** Objects it was sent, with the text of their version. */
  readonly sent = new Map<string, string>()
  /** Statements that passed through it, to be replayed. */
  readonly statements: SignedStatement[] = []
  /** Answers to challenges it gave. */
  readonly proofs: string[] = []
  readonly pause: (ms: number) => Promise<void>
  readonly node: string

  constructor(node: string, pause: (ms: number) => Promise<void>) {
    this.node = node
    this.pause = pause
  }

  /** Keeps what looks like a statement, wherever in a message it is. */
  learn(value: unknown): void {
    if (Array.isArray(value)) for (const each of value) this.learn(each)
    else if (typeof value === 'object' && value !== null) for (const each of Object.values(value)) this.learn(each)
    else if (typeof value === 'string') {
      const statement = statementIn(value)
      if (statement !== undefined && this.statements.length < SEEN_MAX) this.statements.push(statement)
    }
  }
}

/** A statement, if the text is one. */
export function statementIn(text: string): SignedStatement | undefined {
  if (text.length < 200) return undefined
  try {
    return decodeStatement(new Uint8Array(Buffer.from(text, 'base64url')))
  } catch {
    return undefined
  }
}
