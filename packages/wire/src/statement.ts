/**
 * A statement: what one node says about one object, signed, so that others can pass it on and nobody can make it up.
 *
 *     1 form │ 1 verb │ 8 epoch │ 8 counter │ 8 time │ 32 node │ 32 object │ 1 + n owner │ 64 Ed25519 signature
 *     └──────────────────────── signed, behind the context ──────────────────────────────┘
 *
 * The node that takes a client's request makes it: `put` and `delete` of an object, `hold` and `release` by an owner.
 * `node` is its public key. Epoch, node and counter together are the version, compared in that order: the epoch is
 * higher than that of every statement its signer had verified, and the counter is the signer's own and only grows, so
 * no two statements are alike in all three. `time` is for people and for limits, never for order.
 */
import { CairnError } from '@cairn/kernel'
import { type Address, addressFromDigest, digestOf } from './address.ts'
import { compareBytes, fromBase64url, toBase64url } from './bytes.ts'

export const STATEMENT_VERBS = ['put', 'delete', 'hold', 'release'] as const
export type StatementVerb = (typeof STATEMENT_VERBS)[number]

/** The order of statements about one object, or about one hold. */
export interface StatementVersion {
  readonly epoch: number
  /** The public key of the signer, 32 bytes. */
  readonly node: Uint8Array
  readonly counter: number
}

export interface Statement extends StatementVersion {
  readonly verb: StatementVerb
  readonly object: Address
  /** Of a hold or a release; empty otherwise. */
  readonly owner: string
  /** Unix milliseconds of the signer's clock. */
  readonly at: number
}

/** A statement as it was signed: `bytes` is what is stored and passed on. */
export interface SignedStatement extends Statement {
  readonly bytes: Uint8Array
}

export interface StatementSigner {
  /** The public key, 32 bytes. */
  readonly node: Uint8Array
  readonly sign: (message: Uint8Array) => Uint8Array
}

export type VerifySignature = (key: Uint8Array, message: Uint8Array, signature: Uint8Array) => boolean

const FORM = 1
const CONTEXT = new TextEncoder().encode('cairn-statement/v1\0')
const NODE_AT = 26
const OBJECT_AT = 58
const OWNER_AT = 90
const KEY_BYTES = 32
const SIGNATURE_BYTES = 64
const OWNER_BYTES_MAX = 128
/** The largest statement there is. */
export const STATEMENT_BYTES_MAX = OWNER_AT + 1 + OWNER_BYTES_MAX + SIGNATURE_BYTES

/** Signs; the caller sees to it that the counter was never used before. */
export function signStatement(signer: StatementSigner, claim: Omit<Statement, 'node'>): SignedStatement {
  const owner = new TextEncoder().encode(claim.owner)
  if (owner.length > OWNER_BYTES_MAX) throw malformed(`its owner has more than ${OWNER_BYTES_MAX} bytes`)
  const end = OWNER_AT + 1 + owner.length
  const bytes = new Uint8Array(end + SIGNATURE_BYTES)
  const view = new DataView(bytes.buffer)
  bytes[0] = FORM
  bytes[1] = STATEMENT_VERBS.indexOf(claim.verb)
  for (const [at, value] of [claim.epoch, claim.counter, claim.at].entries())
    view.setBigUint64(2 + 8 * at, BigInt(value))
  bytes.set(signer.node, NODE_AT)
  bytes.set(digestOf(claim.object), OBJECT_AT)
  bytes[OWNER_AT] = owner.length
  bytes.set(owner, OWNER_AT + 1)
  bytes.set(signer.sign(messageOf(bytes)), end)
  return { ...claim, node: signer.node, bytes }
}

/** Reads the form alone: who signed is not known before `verifyStatement`. */
export function decodeStatement(bytes: Uint8Array): SignedStatement {
  const ownerBytes = bytes[OWNER_AT] ?? 0
  if (bytes.length !== OWNER_AT + 1 + ownerBytes + SIGNATURE_BYTES || ownerBytes > OWNER_BYTES_MAX)
    throw malformed('its length is wrong')
  const verb = STATEMENT_VERBS[bytes[1] ?? -1]
  if (bytes[0] !== FORM || verb === undefined) throw malformed('its form or verb is unknown')
  const hasOwner = verb === 'hold' || verb === 'release'
  if (hasOwner !== ownerBytes > 0) throw malformed('only holds and releases have an owner')
  return {
    verb,
    epoch: integerAt(bytes, 2),
    counter: integerAt(bytes, 10),
    at: integerAt(bytes, 18),
    node: bytes.slice(NODE_AT, NODE_AT + KEY_BYTES),
    object: addressFromDigest(bytes.slice(OBJECT_AT, OWNER_AT)),
    owner: ownerIn(bytes.subarray(OWNER_AT + 1, OWNER_AT + 1 + ownerBytes)),
    bytes,
  }
}

/** Whether the signature is that of the key the statement names. Whether that key may speak is the caller's to know. */
export function verifyStatement({ node, bytes }: SignedStatement, verify: VerifySignature): boolean {
  return verify(node, messageOf(bytes), bytes.subarray(bytes.length - SIGNATURE_BYTES))
}

/** Below zero if the first is older. */
export function compareVersions(one: StatementVersion, other: StatementVersion): number {
  return one.epoch - other.epoch || compareBytes(one.node, other.node) || one.counter - other.counter
}

/** For a header or a field of JSON. */
export function statementText(bytes: Uint8Array): string {
  return toBase64url(bytes)
}

export function statementFromText(text: string): SignedStatement {
  if (text.length > Math.ceil((STATEMENT_BYTES_MAX * 4) / 3)) throw malformed('it is too long')
  return decodeStatement(fromBase64url(text))
}

function messageOf(bytes: Uint8Array): Uint8Array {
  const message = new Uint8Array(CONTEXT.length + bytes.length - SIGNATURE_BYTES)
  message.set(CONTEXT)
  message.set(bytes.subarray(0, bytes.length - SIGNATURE_BYTES), CONTEXT.length)
  return message
}

function integerAt(bytes: Uint8Array, at: number): number {
  const value = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(at))
  if (!Number.isSafeInteger(value)) throw malformed('a number in it is too large')
  return value
}

function ownerIn(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw new CairnError('Malformed', 'This is not a statement: its owner is not text.', { cause })
  }
}

function malformed(why: string): CairnError {
  return new CairnError('Malformed', `This is not a statement: ${why}.`)
}
