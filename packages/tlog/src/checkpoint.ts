/**
 * Checkpoints (C2SP tlog-checkpoint): the text of a note that says what a log holds.
 *
 *   example.com/behind-the-sofa                        origin: which log
 *   20852163                                           size
 *   CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=       root
 */
import { CairnError } from '@cairn/kernel'
import { fromBase64, parseDecimal, toBase64, toUtf8 } from './encoding.ts'
import { HASH_BYTES, type Hash } from './hash.ts'
import { MAX_NAME_BYTES, requireNoteText } from './note.ts'

export interface Checkpoint {
  readonly origin: string
  readonly size: number
  readonly root: Hash
  /** Lines with no meaning here. An ML-DSA-44 cosignature does not cover them. */
  readonly extensions: readonly string[]
}

/** The note text of a checkpoint. */
export function encodeCheckpoint({ origin, size, root, extensions }: Checkpoint): string {
  const text = [origin, String(size), toBase64(root), ...extensions, ''].join('\n')
  requireNoteText(text)
  // Refuses any size or root that cannot be read back. A line break hidden in a line would make it another checkpoint.
  if (parseCheckpoint(text).extensions.length !== extensions.length) throw malformed('has a newline inside a line')
  return text
}

/** Reads the text of a note as a checkpoint; each one has exactly one spelling. */
export function parseCheckpoint(text: string): Checkpoint {
  if (!text.endsWith('\n')) throw malformed('does not end with a newline')
  const [origin, size, root, ...extensions] = text.slice(0, -1).split('\n')
  if (origin === undefined || size === undefined || root === undefined) throw malformed('has fewer than three lines')
  if (origin === '' || toUtf8(origin).length > MAX_NAME_BYTES) {
    throw malformed(`has an origin that is empty or longer than ${MAX_NAME_BYTES} bytes`)
  }
  if (extensions.includes('')) throw malformed('has an empty extension line')
  const bytes = fromBase64(root)
  if (bytes.length !== HASH_BYTES) throw malformed(`has a root of ${bytes.length} bytes`)
  return { origin, size: parseDecimal(size), root: bytes, extensions }
}

function malformed(why: string): CairnError {
  return new CairnError('Malformed', `The checkpoint ${why}; see C2SP tlog-checkpoint for its form.`)
}
