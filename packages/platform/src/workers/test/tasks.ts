/** What the tests run on worker threads. */
import { threadId } from 'node:worker_threads'
import { CairnError } from '@cairn/kernel'

export function square(input: number): number {
  return input * input
}

export async function squareLater(input: number): Promise<number> {
  return await Promise.resolve(input * input)
}

/** Fills the buffer it was given and hands it back. */
export function fill(input: Uint8Array): Uint8Array {
  return input.fill(7)
}

export function whichThread(): number {
  return threadId
}

export function refuse(detail: string): never {
  throw new CairnError('Malformed', detail, { code: 'refused', retryAfterMs: 5 })
}

export function blunder(): never {
  throw new TypeError('a defect')
}

/** A loop that nothing but the end of its thread can stop. */
export function spin(_input: undefined): never {
  for (;;) {
    // On purpose.
  }
}

export function crash(_input: undefined): never {
  process.exit(3)
}

/** Not to be had as a message. */
export function uncloneable(_input: undefined): () => void {
  return () => undefined
}
