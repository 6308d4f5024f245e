/** From bytes someone sent to a checkpoint the log is bound by: the note's form, its signatures, its origin. */

import { CairnError } from '@cairn/kernel'
import { type Checkpoint, parseCheckpoint } from './checkpoint.ts'
import { parseNote } from './note.ts'
import { type SignatureVerifier, type VerifiedSignature, verifyNote } from './signing.ts'
import { KEY_TYPES, type VerifierKey } from './verifier-key.ts'

/** Whom to believe about one log. */
export interface LogTrust {
  readonly origin: string
  /** One of these must have signed. */
  readonly logKeys: readonly VerifierKey[]
  /** Cosigners that count; how many are enough is the caller's to say. */
  readonly cosignerKeys: readonly VerifierKey[]
}

export interface OpenedCheckpoint {
  readonly checkpoint: Checkpoint
  /** The log's own signatures: at least one. */
  readonly logSignatures: readonly VerifiedSignature[]
  readonly cosignatures: readonly VerifiedSignature[]
}

/** The checkpoint in a signed note, if it is of this log and signed by it; throws `Integrity` or `Malformed` otherwise. */
export function openCheckpoint(bytes: Uint8Array, trust: LogTrust, verifier: SignatureVerifier): OpenedCheckpoint {
  const note = parseNote(bytes)
  const checkpoint = parseCheckpoint(note.text)
  if (checkpoint.origin !== trust.origin) {
    throw new CairnError('Integrity', `The checkpoint is of the log ${checkpoint.origin}, not of ${trust.origin}.`)
  }
  const logSignatures = verifyNote(note, trust.logKeys, verifier)
  const signedWhole = logSignatures.some(({ key }) => KEY_TYPES[key.type].algorithm === 'ed25519')
  if (checkpoint.extensions.length > 0 && !signedWhole) {
    throw new CairnError('Integrity', 'The checkpoint has extension lines that no signature of the log covers.')
  }
  const cosigners = trust.cosignerKeys.filter(({ name, keyId }) =>
    note.signatures.some((line) => line.name === name && line.keyId === keyId),
  )
  const cosignatures = cosigners.length === 0 ? [] : verifyNote(note, cosigners, verifier)
  return { checkpoint, logSignatures, cosignatures }
}
