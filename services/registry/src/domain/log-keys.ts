/** The two keys the log holds: one signs its checkpoints, the other says when. Neither approves anything. */
import { CairnError } from '@cairn/kernel'
import type { LogIdentity } from '@cairn/names'
import { makeDirectories, type Platform, readSecret, writeSecret } from '@cairn/platform'
import {
  encodeCheckpoint,
  encodeNote,
  type Hash,
  noteSigner,
  signNote,
  type VerifierKey,
  verifierKey,
} from '@cairn/tlog'

const LOG_KEY = 'log-key'
const COSIGNER_KEY = 'cosigner-key'
const SEED_BYTES = 32

export interface LogSeeds {
  readonly log: Uint8Array
  readonly cosigner: Uint8Array
}

/** The seeds in this directory. A log that has begun without them is an error, never the reason for new ones. */
export async function openLogSeeds(platform: Platform, directory: string, isBegun: boolean): Promise<LogSeeds> {
  await makeDirectories(platform.disk, `${directory}/keys`)
  const seedOf = async (name: string): Promise<Uint8Array> => {
    const there = await readSecret(platform, directory, name)
    if (there !== undefined) return there
    if (isBegun)
      throw new CairnError('Integrity', `The key file ${name} is missing; restore it from a backup of ${directory}.`)
    return await writeSecret(platform, directory, name, platform.random.bytes(SEED_BYTES))
  }
  return { log: await seedOf(LOG_KEY), cosigner: await seedOf(COSIGNER_KEY) }
}

/** Signs checkpoints of one log. */
export class CheckpointSigner {
  readonly identity: LogIdentity
  readonly logKey: VerifierKey
  readonly cosignerKey: VerifierKey
  readonly #platform: Pick<Platform, 'crypto'>
  readonly #seeds: LogSeeds

  constructor(platform: Pick<Platform, 'crypto'>, identity: LogIdentity, seeds: LogSeeds) {
    const { crypto } = platform
    const { origin } = identity
    this.#platform = platform
    this.#seeds = seeds
    this.identity = identity
    this.logKey = verifierKey(origin, 'ed25519', crypto.ed25519PublicKey(seeds.log))
    this.cosignerKey = verifierKey(`${origin}/time`, 'ed25519-cosignature', crypto.ed25519PublicKey(seeds.cosigner))
  }

  /** The note that says what the log holds, signed by the log and timed by the cosigner. */
  sign(size: number, root: Hash, nowMs: number): Uint8Array {
    const { crypto } = this.#platform
    const { log, cosigner } = this.#seeds
    const text = encodeCheckpoint({ origin: this.identity.origin, size, root, extensions: [] })
    const seconds = Math.floor(nowMs / 1000)
    return encodeNote(
      signNote(text, [
        noteSigner(this.logKey, (message) => crypto.ed25519Sign(log, message)),
        noteSigner(this.cosignerKey, (message) => crypto.ed25519Sign(cosigner, message), seconds),
      ]),
    )
  }
}
