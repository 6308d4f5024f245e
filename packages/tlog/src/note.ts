/**
 * Signed notes (C2SP signed-note): a text, an empty line, signatures.
 *
 *   example.com/log⏎                             ┐
 *   1⏎                                           │ text, with its last newline: what is signed
 *   q3Bd…=⏎                                      ┘
 *   ⏎
 *   — example.com/log Az3grlgtzPICa5OS8npV…=⏎    base64(key id, 4 bytes ‖ signature)
 *   — witness.example/w1 jWbPPwAAAABkGFDL…=⏎
 */
import { CairnError } from '@cairn/kernel'
import { fromBase64, fromUtf8, toBase64, toUtf8 } from './encoding.ts'

export interface NoteSignature {
  readonly name: string
  /** Which of the name's keys; a number of 32 bits. */
  readonly keyId: number
  /** The bytes after the key id; what they hold depends on the key's type. */
  readonly signature: Uint8Array
}

export interface Note {
  /** Ends with a newline. Not to be believed before `verifyNote`. */
  readonly text: string
  readonly signatures: readonly NoteSignature[]
}

/** The format asks every reader to accept 16 signatures; twice that leaves room for a log's own keys and its witnesses. */
export const MAX_NOTE_SIGNATURES = 32
/** 32 signatures of the largest kind (ML-DSA-44: 3.3 KB of base64, and a name) and 16 KB of text. */
export const MAX_NOTE_BYTES = 128 * 1024
/** A cosigned message gives a name's length one byte. */
export const MAX_NAME_BYTES = 255

const KEY_ID_BYTES = 4
const SIGNATURE_MARK = '— '
const NEWLINE = 0x0a
const SPACE = 0x20

/** Reads a signed note, checking its form only. */
export function parseNote(bytes: Uint8Array): Note {
  const whole = readText(bytes)
  const split = whole.lastIndexOf('\n\n')
  if (split < 0) throw malformed('has no empty line between its text and its signatures')
  return { text: whole.slice(0, split + 1), signatures: parseSignatureLines(whole.slice(split + 2)) }
}

/** Reads signature lines as they stand below a note, or as a witness sends them alone. */
export function parseSignatureLines(text: string): NoteSignature[] {
  if (text.length > MAX_NOTE_BYTES) throw malformed(`is longer than ${MAX_NOTE_BYTES} bytes`)
  if (!text.endsWith('\n')) throw malformed('has no newline after its last signature')
  // One more than allowed is enough to know; the rest is not even cut up.
  const lines = text.split('\n', MAX_NOTE_SIGNATURES + 2)
  if (lines.length > MAX_NOTE_SIGNATURES + 1) {
    throw malformed(`has more than ${MAX_NOTE_SIGNATURES} signatures`)
  }
  return lines.slice(0, -1).map(parseSignatureLine)
}

function parseSignatureLine(line: string): NoteSignature {
  const [name, encoded, ...rest] = line.slice(SIGNATURE_MARK.length).split(' ', 3)
  if (!line.startsWith(SIGNATURE_MARK) || name === undefined || encoded === undefined || rest.length > 0) {
    throw malformed('has a signature line that is not "— name signature"')
  }
  requireKeyName(name)
  const bytes = fromBase64(encoded)
  if (bytes.length <= KEY_ID_BYTES) throw malformed('has a signature of no bytes')
  return { name, keyId: new DataView(bytes.buffer).getUint32(0), signature: bytes.slice(KEY_ID_BYTES) }
}

/** The note's bytes; refuses what `parseNote` would not read back. */
export function encodeNote({ text, signatures }: Note): Uint8Array {
  requireNoteText(text)
  if (signatures.length === 0) throw malformed('has no signature')
  const bytes = toUtf8(`${text}\n${signatures.map(formatSignature).join('')}`)
  parseNote(bytes)
  return bytes
}

function formatSignature({ name, keyId, signature }: NoteSignature): string {
  // An empty line hidden in a name would move the end of the text.
  requireKeyName(name)
  const bytes = new Uint8Array(KEY_ID_BYTES + signature.length)
  new DataView(bytes.buffer).setUint32(0, keyId)
  bytes.set(signature, KEY_ID_BYTES)
  return `${SIGNATURE_MARK}${name} ${toBase64(bytes)}\n`
}

/** Refuses a text that cannot be signed as it is: it must end with a newline and hold no other control character. */
export function requireNoteText(text: string): void {
  const bytes = toUtf8(text)
  if (bytes.length > MAX_NOTE_BYTES) throw malformed(`is longer than ${MAX_NOTE_BYTES} bytes`)
  if (bytes.at(-1) !== NEWLINE) throw malformed('has a text that does not end with a newline')
  refuseControls(bytes)
}

/** Key names are not empty, hold no white space and no plus sign, and have at most 255 bytes. */
export function requireKeyName(name: string): void {
  const bytes = toUtf8(name)
  refuseControls(bytes)
  if (name === '' || /[\p{White_Space}+]/u.test(name) || bytes.length > MAX_NAME_BYTES) {
    throw new CairnError('Malformed', `A key name has 1 to ${MAX_NAME_BYTES} bytes without spaces or plus signs.`)
  }
}

function readText(bytes: Uint8Array): string {
  if (bytes.length > MAX_NOTE_BYTES) throw malformed(`is longer than ${MAX_NOTE_BYTES} bytes`)
  refuseControls(bytes)
  return fromUtf8(bytes)
}

function refuseControls(bytes: Uint8Array): void {
  for (const byte of bytes) if (byte < SPACE && byte !== NEWLINE) throw malformed('holds control characters')
}

function malformed(why: string): CairnError {
  return new CairnError('Malformed', `The note ${why}; see C2SP signed-note for its form.`)
}
