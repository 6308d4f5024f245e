/**
 * Signed statements: what this node says to its peers about deletes, and what it believes of theirs.
 *
 *     a client's delete ─▶ signed by the node that took it ─▶ kept with the tombstone, shown on request
 *     a peer's tombstone ─▶ a member's signature over this object and version? ── yes ──▶ a delete
 *                                                                             └─ no ──▶ a hint, not obeyed
 *
 * `epoch` is the version that orders puts and deletes. A statement told again later is as old as it was: what was put
 * since has a higher version.
 */
import { CairnError, GenerationCache } from '@cairn/kernel'
import type { Platform, Sign } from '@cairn/platform'
import {
  type Address,
  blake3,
  type SignedStatement,
  signStatement,
  statementFromText,
  statementText,
  toBase64url,
  toHex,
  verifyStatement,
} from '@cairn/wire'

/** Statements that were verified, by hash: each round of repair shows the same ones again. */
const VERIFIED_MAX = 65_536

export interface StatementsOptions {
  /** The node's identity: 32 bytes. */
  readonly seed: Uint8Array
  /** Whether this public key is that of a member. */
  readonly isMember: (key: string) => boolean
}

export class Statements {
  /** This node's public key, as its peers are told it. */
  readonly key: string
  readonly #platform: Platform
  readonly #node: Uint8Array
  readonly #sign: Sign
  readonly #isMember: StatementsOptions['isMember']
  readonly #verified = new GenerationCache<true>(VERIFIED_MAX)
  /** Of tombstones that were written before deletes were signed. */
  readonly #adopted = new GenerationCache<Uint8Array>(VERIFIED_MAX)

  constructor(platform: Platform, { seed, isMember }: StatementsOptions) {
    this.#platform = platform
    this.#node = platform.crypto.ed25519PublicKey(seed)
    this.#sign = platform.crypto.ed25519Signer(seed)
    this.#isMember = isMember
    this.key = toBase64url(this.#node)
  }

  /** Signs that the object is gone as of this version. The caller has decided so, or has it in its own journal. */
  signDelete(object: Address, version: number): Uint8Array {
    const at = Math.max(0, Math.floor(this.#platform.clock.wall()))
    const claim = { verb: 'delete', object, owner: '', epoch: version, counter: version, at } as const
    return signStatement({ node: this.#node, sign: this.#sign }, claim).bytes
  }

  /** The statement to show for a tombstone of this node: its own, or, where it has none, one that takes it over. */
  shownFor(object: Address, version: number, record: Uint8Array | undefined): string {
    if (record !== undefined) return statementText(record)
    const name = `${object} ${version}`
    const adopted = this.#adopted.get(name) ?? this.signDelete(object, version)
    this.#adopted.add(name, adopted)
    return statementText(adopted)
  }

  /** The statement in this text, if a member says in it that this object is gone as of this version. */
  deleteIn(text: string | undefined, object: Address, version: number): Uint8Array | undefined {
    const statement = text === undefined ? undefined : decoded(text)
    if (statement?.verb !== 'delete' || statement.object !== object || statement.epoch !== version) return undefined
    const isSelf = toBase64url(statement.node) === this.key
    if (!isSelf && !this.#isMember(toBase64url(statement.node))) return undefined
    const name = toHex(blake3(statement.bytes))
    if (this.#verified.get(name) !== true) {
      const { crypto } = this.#platform
      const verify = crypto.ed25519Verify.bind(crypto)
      if (!verifyStatement(statement, verify)) return undefined
      this.#verified.add(name, true)
    }
    return statement.bytes
  }
}

function decoded(text: string): SignedStatement | undefined {
  try {
    return statementFromText(text)
  } catch {
    // What cannot be read says nothing.
    return undefined
  }
}

export function unsignedDelete(id: Address): CairnError {
  const detail = `No statement of a member of this cluster says that ${id} was deleted; ask the node that took the delete.`
  return new CairnError('Conflict', detail, { code: 'unsigned_delete' })
}
