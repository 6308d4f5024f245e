/**
 * A signer's key file: the public half as the signer set lists it, and the seed it follows from.
 *
 *   {"algo":"ed25519","id":"alice","key":"…","schema":"cairn.signer-key/1","seed":"…"}
 *
 * Whoever reads it to sign checks that `key` follows from `seed`: a damaged file is then an error, not another signer.
 */
import { canonicalJson, fromBase64url, parseJson, toBase64url } from '@cairn/wire'
import { Fields, isJsonObject } from './fields.ts'
import { parseSigner, type Signer } from './signer-set.ts'

/** A signer with its secret. */
export interface SignerKey {
  readonly signer: Signer
  /** 32 bytes, for both algorithms. */
  readonly seed: Uint8Array
}

const SCHEMA = 'cairn.signer-key/1'
const SEED_BYTES = 32

/** One line, so that the file can be printed and typed in again. */
export function encodeSignerKey({ signer: { id, algo, key }, seed }: SignerKey): Uint8Array {
  const line = canonicalJson({ schema: SCHEMA, id, algo, key, seed: toBase64url(seed) })
  return new Uint8Array([...line, 0x0a])
}

/** The key in a file; no refusal repeats what the file holds. */
export function parseSignerKey(bytes: Uint8Array): SignerKey {
  const value = parseJson(bytes)
  const fields = new Fields(value, 'The key file', ['schema', 'id', 'algo', 'key', 'seed'], [])
  fields.constant('schema', SCHEMA)
  const { schema: _schema, seed: _seed, ...signer } = isJsonObject(value) ? value : {}
  return { signer: parseSigner(signer), seed: fromBase64url(fields.base64url('seed', [SEED_BYTES])) }
}
