/**
 * Proof files (C2SP tlog-proof): that an entry is in a log, in one text that is checked without the log.
 *
 *   c2sp.org/tlog-proof@v1
 *   extra c29tZSBjb250ZXh0                            optional; covered by no signature
 *   index 73894
 *   gSKyXoYZUgZ6jduWYrkDOARinOMGJveXjgMkBTcdPlQ=      siblings, from the leaf up
 *   …
 *   ⏎
 *   example.com/fancylog                              the log's checkpoint, as it was signed
 *   …
 */
import { CairnError } from '@cairn/kernel'
import { concatBytes } from '@noble/hashes/utils.js'
import { fromBase64, fromUtf8, parseDecimal, toBase64, toUtf8 } from './encoding.ts'
import { HASH_BYTES, type Hash, requireHash } from './hash.ts'
import { MAX_NOTE_BYTES, parseNote } from './note.ts'
import { verifyInclusion } from './proof.ts'
import { requireSize } from './range.ts'
import { type LogTrust, type OpenedCheckpoint, openCheckpoint, type SignatureVerifier } from './signing.ts'

export interface LogProof {
  /** Whatever the application needs to find the leaf; not authenticated. */
  readonly extra?: Uint8Array
  readonly index: number
  readonly proof: readonly Hash[]
  /** The signed note, byte for byte. */
  readonly checkpoint: Uint8Array
}

const FIRST_LINE = 'c2sp.org/tlog-proof@v1'
/** A tree of 2^53 leaves is 53 levels high. */
const MAX_PROOF_HASHES = 53
/** As much as one log entry may have: enough to hold the entry itself. */
const MAX_EXTRA_BYTES = 65_535
const MAX_HEAD_BYTES = 4 * Math.ceil(MAX_EXTRA_BYTES / 3) + MAX_PROOF_HASHES * 45 + 128

export function encodeLogProof({ extra, index, proof, checkpoint }: LogProof): Uint8Array {
  requireSize(index)
  for (const hash of proof) requireHash(hash)
  parseNote(checkpoint)
  if ((extra?.length ?? 0) > MAX_EXTRA_BYTES || proof.length > MAX_PROOF_HASHES) throw malformed('is too long')
  const lines = [
    FIRST_LINE,
    ...(extra === undefined ? [] : [`extra ${toBase64(extra)}`]),
    `index ${index}`,
    ...proof.map(toBase64),
    '',
    '',
  ]
  return concatBytes(toUtf8(lines.join('\n')), checkpoint)
}

/** Reads a proof file, checking its form only. */
export function parseLogProof(bytes: Uint8Array): LogProof {
  if (bytes.length > MAX_HEAD_BYTES + MAX_NOTE_BYTES) throw malformed('is too long')
  const text = fromUtf8(bytes)
  const end = text.indexOf('\n\n')
  if (end < 0 || end > MAX_HEAD_BYTES) throw malformed('has no empty line before its checkpoint')
  const lines = text.slice(0, end).split('\n')
  if (lines.shift() !== FIRST_LINE) throw malformed(`does not start with ${FIRST_LINE}`)
  const extra = lines[0]?.startsWith('extra ') ? fromBase64(lines.shift()?.slice('extra '.length) ?? '') : undefined
  if ((extra?.length ?? 0) > MAX_EXTRA_BYTES) throw malformed('has too much extra data')
  const index = lines.shift()
  if (index === undefined || !index.startsWith('index ')) throw malformed('has no index')
  if (lines.length > MAX_PROOF_HASHES) throw malformed(`has more than ${MAX_PROOF_HASHES} hashes`)
  const checkpoint = toUtf8(text.slice(end + 2))
  parseNote(checkpoint)
  return {
    ...(extra === undefined ? {} : { extra }),
    index: parseDecimal(index.slice('index '.length)),
    proof: lines.map(parseHash),
    checkpoint,
  }
}

/** The checkpoint the proof shows `leaf` to be in, if the log signed it; throws `Integrity` or `Malformed` otherwise. */
export function verifyLogProof(
  { index, proof, checkpoint }: LogProof,
  leaf: Hash,
  trust: LogTrust,
  verifier: SignatureVerifier,
): OpenedCheckpoint {
  const opened = openCheckpoint(checkpoint, trust, verifier)
  const { size, root } = opened.checkpoint
  verifyInclusion({ index, size, leaf, root, proof })
  return opened
}

function parseHash(line: string): Hash {
  const hash = fromBase64(line)
  if (hash.length !== HASH_BYTES) throw malformed(`has a hash of ${hash.length} bytes`)
  return hash
}

function malformed(why: string): CairnError {
  return new CairnError('Malformed', `The proof file ${why}; see C2SP tlog-proof for its form.`)
}
