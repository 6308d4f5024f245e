/**
 * The keys the log holds: one signs its checkpoints, another says when, a third, where it is wanted, signs once more
 * in a way that outlives quantum computers. None of them approves anything.
 */
import { CairnError } from '@cairn/kernel'
import type { LogIdentity } from '@cairn/names'
import { makeDirectories, type Platform, readSecret, type Sign, writeSecret } from '@cairn/platform'
import {
  encodeCheckpoint,
  encodeNote,
  type Hash,
  type NoteSignature,
  noteSigner,
  parseNote,
  signNote,
  type VerifierKey,
  verifierKey,
} from '@cairn/tlog'

export const LOG_KEY = 'log-key'
export const COSIGNER_KEY = 'cosigner-key'
const QUANTUM_KEY = 'quantum-key'
const SEED_BYTES = 32

export interface LogSeeds {
  readonly log: Uint8Array
  readonly cosigner: Uint8Array
  readonly quantum: Uint8Array | undefined
}

/** The public halves. */
export interface LogKeys {
  readonly logKey: VerifierKey
  readonly cosignerKey: VerifierKey
  readonly quantumKey: VerifierKey | undefined
}

/**
 * The seeds in this directory; new ones where nothing has begun. Nothing where a log has begun and one of its own two
 * is missing: that is never the reason for new ones. The third may come later.
 */
export async function openLogSeeds(
  platform: Platform,
  directory: string,
  { isBegun, isQuantum, hadQuantum }: SeedRules,
): Promise<LogSeeds | undefined> {
  await makeDirectories(platform.disk, `${directory}/keys`)
  const there = async (name: string): Promise<Uint8Array | undefined> => await readSecret(platform, directory, name)
  const made = async (name: string): Promise<Uint8Array> =>
    (await there(name)) ?? (await writeSecret(platform, directory, name, platform.random.bytes(SEED_BYTES)))
  const [log, cosigner] = isBegun
    ? [await there(LOG_KEY), await there(COSIGNER_KEY)]
    : [await made(LOG_KEY), await made(COSIGNER_KEY)]
  if (log === undefined || cosigner === undefined) return undefined
  if (!isQuantum) return { log, cosigner, quantum: undefined }
  if (hadQuantum && (await there(QUANTUM_KEY)) === undefined) throw quantumLost(directory)
  return { log, cosigner, quantum: await made(QUANTUM_KEY) }
}

interface SeedRules {
  readonly isBegun: boolean
  readonly isQuantum: boolean
  /** The log has signed with a key of the third kind, and readers may ask for it. */
  readonly hadQuantum: boolean
}

function quantumLost(directory: string): CairnError {
  const detail = `The key file ${QUANTUM_KEY} is missing; restore ${directory}/keys/${QUANTUM_KEY} from a backup, or set registry.pq.mode to off: then readers whose trust file lists it refuse what is signed from then on.`
  return new CairnError('Integrity', detail, { code: 'KeyMissing' })
}

/** Whether the seeds a log signs with are in this directory. */
export async function hasLogKeys(platform: Pick<Platform, 'disk' | 'crypto'>, directory: string): Promise<boolean> {
  const seeds = await Promise.all(
    [LOG_KEY, COSIGNER_KEY].map(async (name) => await readSecret(platform, directory, name)),
  )
  return seeds.every((seed) => seed !== undefined)
}

export function logKeysOf({ crypto }: Pick<Platform, 'crypto'>, origin: string, seeds: LogSeeds): LogKeys {
  const { log, cosigner, quantum } = seeds
  return {
    logKey: verifierKey(origin, 'ed25519', crypto.ed25519PublicKey(log)),
    cosignerKey: verifierKey(`${origin}/time`, 'ed25519-cosignature', crypto.ed25519PublicKey(cosigner)),
    quantumKey: quantum && verifierKey(`${origin}/quantum`, 'ml-dsa-44-cosignature', crypto.mlDsa44PublicKey(quantum)),
  }
}

interface Signs {
  readonly log: Sign
  readonly cosigner: Sign
  readonly quantum: Sign | undefined
}

function signsOf({ crypto }: Pick<Platform, 'crypto'>, { log, cosigner, quantum }: LogSeeds): Signs {
  return {
    log: crypto.ed25519Signer(log),
    cosigner: crypto.ed25519Signer(cosigner),
    quantum: quantum && crypto.mlDsa44Signer(quantum),
  }
}

/** Signs checkpoints of one log; one without its seeds knows whose signatures count, and makes none. */
export class CheckpointSigner implements LogKeys {
  readonly identity: LogIdentity
  readonly logKey: VerifierKey
  readonly cosignerKey: VerifierKey
  readonly quantumKey: VerifierKey | undefined
  readonly #signs: Signs | undefined

  constructor(
    platform: Pick<Platform, 'crypto'>,
    identity: LogIdentity,
    { logKey, cosignerKey, quantumKey }: LogKeys,
    seeds: LogSeeds | undefined,
  ) {
    this.#signs = seeds && signsOf(platform, seeds)
    this.identity = identity
    this.logKey = logKey
    this.cosignerKey = cosignerKey
    this.quantumKey = quantumKey
  }

  /** The keys of the log itself, as a trust file lists them. */
  get keys(): readonly VerifierKey[] {
    const own = [this.logKey, this.cosignerKey]
    return this.quantumKey === undefined ? own : [...own, this.quantumKey]
  }

  /** The note that says what the log holds, signed by the log and timed by the cosigner. */
  sign(size: number, root: Hash, nowMs: number): Uint8Array {
    if (this.#signs === undefined) throw new CairnError('Internal', 'A registry that only reads signs nothing.')
    const { log, cosigner, quantum } = this.#signs
    const text = encodeCheckpoint({ origin: this.identity.origin, size, root, extensions: [] })
    const seconds = Math.floor(nowMs / 1000)
    const signers = [noteSigner(this.logKey, log), noteSigner(this.cosignerKey, cosigner, seconds)]
    if (quantum !== undefined && this.quantumKey !== undefined)
      signers.push(noteSigner(this.quantumKey, quantum, seconds))
    return encodeNote(signNote(text, signers))
  }

  /** The note with the lines of witnesses that it has not yet: under one text a later line replaces an earlier one. */
  withWitnesses(note: Uint8Array, lines: readonly NoteSignature[]): Uint8Array {
    const { text, signatures } = parseNote(note)
    const isReplaced = ({ name, keyId }: NoteSignature): boolean =>
      lines.some((line) => line.name === name && line.keyId === keyId)
    return encodeNote({ text, signatures: [...signatures.filter((line) => !isReplaced(line)), ...lines] })
  }

  /** The lines that others have put under a note of ours. */
  witnessLines(note: Uint8Array): readonly NoteSignature[] {
    const isOwn = ({ name, keyId }: NoteSignature): boolean =>
      this.keys.some((key) => key.name === name && key.keyId === keyId)
    return parseNote(note).signatures.filter((line) => !isOwn(line))
  }
}
