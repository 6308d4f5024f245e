/**
 * Proof files of names, each checked before it is given away, and kept for when the registry cannot be asked.
 *
 *     ask the registry ─▶ signed by whom we trust, continues what we proved, approved by its quorum? ─▶ says what the log says?
 */
import type { CallContext, RegistryClient } from '@cairn/clients'
import { itemHash, type NameItem, parseProof, type TrustFile, verifyProof } from '@cairn/names'
import { parseCheckpoint, parseNote, type SignatureVerifier } from '@cairn/tlog'
import { type ProvenLog, refuseView } from './log-tail.ts'

export interface CheckedNameProof {
  readonly item: NameItem | null
  /** The version the proof is about. */
  readonly version: number
  /** Of the tree it proves it in. */
  readonly size: number
  readonly proof: Uint8Array
  /** On the monotonic clock. */
  readonly provedAtMs: number
}

/** A proof of an ordinary registry has a few kilobytes. */
const KEPT_BYTES_MAX = 16 * 1024 * 1024

export interface NameProofsOptions {
  readonly client: RegistryClient
  readonly trust: TrustFile
  readonly verifier: SignatureVerifier
  readonly clock: { now(): number; wall(): number }
}

export class NameProofs {
  readonly #options: NameProofsOptions
  /** Oldest first. */
  readonly #kept = new Map<string, CheckedNameProof>()
  #keptBytes = 0

  constructor(options: NameProofsOptions) {
    this.#options = options
  }

  /** The last proof of the name that held. */
  kept(name: string): CheckedNameProof | undefined {
    return this.#kept.get(name)
  }

  /** How many entries the log has by the proof that the registry gives now; nothing is checked yet. */
  async fetch(name: string, from: number, context: CallContext): Promise<{ proof: Uint8Array; size: number }> {
    const proof = await this.#options.client.proof({ name }, from, context)
    return { proof, size: parseCheckpoint(parseNote(parseProof(proof).checkpoint).text).size }
  }

  /** What the proof shows, once it held against what stands here; throws why it does not. */
  check(name: string, bytes: Uint8Array, standing: ProvenLog): CheckedNameProof {
    const { trust, verifier, clock } = this.#options
    const { pin, head, state } = standing
    const verdict = verifyProof(parseProof(bytes), trust, verifier, { now: clock.wall(), pin })
    if (verdict.kind === 'refused') throw refuseView(verdict.code, `The proof of ${name} is refused: ${verdict.detail}`)
    const { finding } = verdict
    if (verdict.kind !== 'verified' || finding.type !== 'name' || finding.name !== name)
      throw refuseView('wrong_subject', `The proof that came is not one of ${name}.`)
    const { item, head: proved } = finding
    const isSame = state?.hashOf('name', name) === (item && itemHash(item))
    if (state !== undefined && proved.version === head.version && !isSame)
      throw refuseView(
        'other_meaning',
        `The proof of ${name} says something else than version ${head.version} of the log.`,
      )
    const { size } = verdict.pin
    return { item, version: proved.version, size, proof: bytes, provedAtMs: clock.now() }
  }

  keep(name: string, proven: CheckedNameProof): void {
    this.#drop(name)
    this.#kept.set(name, proven)
    this.#keptBytes += proven.proof.length
    for (const oldest of this.#kept.keys()) {
      if (this.#keptBytes <= KEPT_BYTES_MAX) return
      this.#drop(oldest)
    }
  }

  #drop(name: string): void {
    const proven = this.#kept.get(name)
    if (proven === undefined) return
    this.#kept.delete(name)
    this.#keptBytes -= proven.proof.length
  }
}
