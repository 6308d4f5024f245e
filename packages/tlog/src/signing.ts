/**
 * Signs and verifies notes, by the three kinds of key there are, and opens checkpoints.
 *
 *   ed25519                 signs the text                                         64 bytes
 *   ed25519-cosignature     signs "cosignature/v1⏎time N⏎" + the text              N (8 bytes) ‖ 64 bytes
 *   ml-dsa-44-cosignature   signs the struct below, made from the checkpoint       N (8 bytes) ‖ 2 420 bytes
 *
 *     "subtree/v1\n\0" ‖ len, cosigner name ‖ N: u64 ‖ len, origin ‖ start = 0: u64 ‖ size: u64 ‖ root
 *
 * N is POSIX seconds. ML-DSA-44 is used pure, with an empty context.
 */
import { CairnError } from '@cairn/kernel'
import { concatBytes } from '@noble/hashes/utils.js'
import { fromBase64, parseDecimal, toBase64, toUtf8 } from './encoding.ts'
import { HASH_BYTES, type Hash } from './hash.ts'
import { MAX_NAME_BYTES, type Note, type NoteSignature, parseNote, requireNoteText } from './note.ts'
import { requireSize } from './range.ts'
import { KEY_TYPES, type SignatureAlgorithm, type VerifierKey } from './verifier-key.ts'

/*
 * Checkpoints (C2SP tlog-checkpoint): the text of a note that says what a log holds.
 *
 *   example.com/behind-the-sofa                        origin: which log
 *   20852163                                           size
 *   CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=       root
 */

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

/**
 * Opens the checkpoint in a signed note from an untrusted source: checks the note's form, its signatures and its origin.
 * Throws `Integrity` or `Malformed` unless it is of this log and signed by it.
 */
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

const TIMESTAMP_BYTES = 8

/** Checks one signature; false for keys and signatures of any wrong shape. The platform or a browser supplies it. */
export interface SignatureVerifier {
  verify(algorithm: SignatureAlgorithm, publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean
}

export interface NoteSigner {
  readonly name: string
  readonly keyId: number
  /** The bytes of this key's signature line for a note of this text, without the key id. */
  sign(text: string): Uint8Array
}

/** A key's signature that verified. */
export interface VerifiedSignature {
  readonly key: VerifierKey
  /** POSIX seconds of a cosignature; undefined for a signature without a time, and where the cosigner says none (0). */
  readonly timestamp: number | undefined
}

/** A signer from the private half of `key`. `timestamp` (POSIX seconds) is what a cosignature says, and unused otherwise. */
export function noteSigner(key: VerifierKey, sign: (message: Uint8Array) => Uint8Array, timestamp = 0): NoteSigner {
  const { timestamped } = KEY_TYPES[key.type]
  return {
    name: key.name,
    keyId: key.keyId,
    sign(text) {
      const signature = sign(signedMessage(key, text, timestamp))
      return timestamped ? concatBytes(uint64(timestamp), signature) : signature
    },
  }
}

/** The note of `text` with these signatures added to those it has. */
export function signNote(
  text: string,
  signers: readonly NoteSigner[],
  signatures: readonly NoteSignature[] = [],
): Note {
  requireNoteText(text)
  const added = signers.map((signer) => ({ name: signer.name, keyId: signer.keyId, signature: signer.sign(text) }))
  return { text, signatures: [...signatures, ...added] }
}

/**
 * The signatures of `keys` on the note, each key once. Lines of other keys are ignored; throws `Integrity`
 * if a line of a known key does not verify, or if there is none.
 */
export function verifyNote(note: Note, keys: readonly VerifierKey[], verifier: SignatureVerifier): VerifiedSignature[] {
  const verified: VerifiedSignature[] = []
  for (const key of keys) {
    const lines = note.signatures.filter(({ name, keyId }) => name === key.name && keyId === key.keyId)
    if (lines.length === 0 || verified.some((other) => sameKey(other.key, key))) continue
    const times = lines.map(({ signature }) => verifyLine(key, note.text, signature, verifier))
    // A cosigner may have signed again later: that counts once, at its latest word.
    const latest = Math.max(...times)
    verified.push({ key, timestamp: latest === 0 ? undefined : latest })
  }
  if (verified.length === 0) throw new CairnError('Integrity', 'No trusted key has signed this note.')
  return verified
}

/** The time a line states, 0 for none, once its signature is found good. */
function verifyLine(key: VerifierKey, text: string, line: Uint8Array, verifier: SignatureVerifier): number {
  const { algorithm, signatureBytes, timestamped } = KEY_TYPES[key.type]
  const header = timestamped ? TIMESTAMP_BYTES : 0
  if (line.length !== header + signatureBytes) throw unverified(key)
  const timestamp = timestamped ? Number(new DataView(line.buffer, line.byteOffset).getBigUint64(0)) : 0
  if (!Number.isSafeInteger(timestamp)) throw unverified(key)
  const message = signedMessage(key, text, timestamp)
  if (!verifier.verify(algorithm, key.publicKey, message, line.subarray(header))) throw unverified(key)
  return timestamp
}

function signedMessage({ name, type }: VerifierKey, text: string, timestamp: number): Uint8Array {
  requireSize(timestamp)
  switch (type) {
    case 'ed25519':
      return toUtf8(text)
    case 'ed25519-cosignature':
      return toUtf8(`cosignature/v1\ntime ${timestamp}\n${text}`)
    case 'ml-dsa-44-cosignature': {
      const { origin, size, root } = parseCheckpoint(text)
      const tree = concatBytes(uint64(0), uint64(size), root)
      return concatBytes(toUtf8('subtree/v1\n\0'), counted(name), uint64(timestamp), counted(origin), tree)
    }
  }
}

function counted(text: string): Uint8Array {
  const bytes = toUtf8(text)
  return concatBytes(Uint8Array.of(bytes.length), bytes)
}

function uint64(value: number): Uint8Array {
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(value))
  return bytes
}

function sameKey(a: VerifierKey, b: VerifierKey): boolean {
  return a.name === b.name && a.keyId === b.keyId
}

function unverified({ name }: VerifierKey): CairnError {
  return new CairnError('Integrity', `The signature of ${name} does not verify; do not trust any of this note.`)
}
