/** Somebody outside the log who has seen its checkpoints. */
import { systemCrypto } from '@cairn/platform'
import { encodeNote, formatVerifierKey, noteSigner, parseNote, signNote, verifierKey } from '@cairn/tlog'

const SEED = new Uint8Array(32).fill(77)

export const WITNESS = verifierKey('witness.example/w1', 'ed25519-cosignature', systemCrypto.ed25519PublicKey(SEED))

/** A configuration that lets this witness in. */
export const WITNESSED = { witness_keys: [formatVerifierKey(WITNESS)] }

/** The line the witness puts under this note, as it sends it. */
export function cosignature(note: Uint8Array, seconds = 1_700_000_000): string {
  const { text } = parseNote(note)
  const signed = signNote(text, [noteSigner(WITNESS, (message) => systemCrypto.ed25519Signer(SEED)(message), seconds)])
  const whole = new TextDecoder().decode(encodeNote(signed))
  return whole.slice(text.length + 1)
}
