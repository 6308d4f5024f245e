/**
 * The keys behind every capability of this node: the roots, and the tokens taken back.
 *
 *     roots ─ derive ─▶ one ring for each service      (a service never sees the roots)
 *     revoked tids ───▶ looked up at each request      (live: no restart, no reload)
 */
import { CairnError, isKind, type Random, Semaphore } from '@cairn/kernel'
import { type DataDirectory, makeRootKey, openDataDirectory, type Platform, readSmallFile } from '@cairn/platform'
import {
  AUDIENCES,
  type Audience,
  type Caveat,
  canonicalJson,
  createKeyring,
  decodeKeyring,
  deriveKeyring,
  encodeKeyring,
  joinTokens,
  type Keyring,
  mintAdminToken,
  mintToken,
  parseJson,
  rotateKeyring,
  type Scope,
  type Verifier,
} from '@cairn/wire'

const REVOKED = 'revoked-tokens'
const RESET = '`cairn token reset` makes new token keys instead: every token minted before is refused from then on.'
/** How long tokens of the former root are good after a rotation. */
const ROTATION_OVERLAP_MS = 24 * 60 * 60 * 1000

/**
 * The inventory of `keys/`: the secrets every node has, and how its first start makes each. They are made with the data
 * directory and never again: one that is missing later is an error, since what it said cannot be told any more.
 */
export function firstSecrets(
  platform: Pick<Platform, 'random' | 'crypto'>,
  rootKey: string | undefined,
): Readonly<Record<(typeof KEY_FILES)[number], () => Uint8Array>> {
  return {
    'token-root': () => firstKeyring(platform, rootKey),
    'node-identity': () => platform.random.bytes(32),
    [REVOKED]: () => canonicalJson([]),
  }
}

/** Their names: all of them are there from the first start on. */
export const KEY_FILES = ['token-root', 'node-identity', REVOKED] as const

/** What to do about a missing one, beside restoring it. */
export const SECRET_REMEDIES: Readonly<Record<string, string>> = {
  [REVOKED]: `Without it tokens that were revoked would be valid again. ${RESET}`,
  'token-root': RESET,
}

/**
 * Gives up every token of a node that is stopped: new roots and an empty list of revoked tokens. The roots go first: a
 * reset that was cut short leaves no list, never an empty one beside the old roots.
 */
export async function resetTokens(platform: Platform, path: string): Promise<void> {
  if ((await readSmallFile(platform.disk, `${path}/format`)) === undefined)
    throw new CairnError('NotFound', `There is no data directory at ${path}.`, { code: 'no_data' })
  const [secrets, remake] = [firstSecrets(platform, undefined), ['token-root', REVOKED]]
  await using _data = await openDataDirectory(platform, { path, secrets, remake })
  try {
    await platform.disk.unlink(`${path}/admin.token`)
    await platform.disk.syncDirectory(path)
  } catch (error) {
    if (!isKind(error, 'NotFound')) throw error
  }
}

/** One active root, given from outside or new. */
function firstKeyring(platform: Pick<Platform, 'random' | 'crypto'>, given: string | undefined): Uint8Array {
  const { kid, key } = makeRootKey(platform, given)
  return encodeKeyring(createKeyring(kid, key))
}

export class TokenKeys {
  readonly #platform: Platform
  readonly #data: DataDirectory
  #roots: Keyring
  #rings: ReadonlyMap<Audience, Keyring>
  #revoked: ReadonlySet<string>
  readonly #own = new Map<string, string>()
  /** One change at a time: each is durable before the next is computed from it. */
  readonly #turn = new Semaphore(1)

  private constructor(platform: Platform, data: DataDirectory, roots: Keyring, revoked: ReadonlySet<string>) {
    this.#platform = platform
    this.#data = data
    this.#roots = roots
    this.#rings = ringsOf(roots)
    this.#revoked = revoked
  }

  static open(platform: Platform, data: DataDirectory): TokenKeys {
    const roots = decodeKeyring(data.secret('token-root'))
    const revoked = data.secret(REVOKED)
    return new TokenKeys(platform, data, roots, tidsOf(revoked))
  }

  /** Takes over what another process of this node has rotated or revoked. */
  async follow(): Promise<void> {
    using _turn = await this.#turn.acquire()
    await this.#read()
  }

  /** What a service needs to judge a bearer, as of now. */
  verifier(audience: Audience): Verifier {
    const keyring = this.#rings.get(audience) ?? deriveKeyring(this.#roots, audience)
    return { keyring, isRevoked: (tid) => this.#revoked.has(tid) }
  }

  mint(aud: Audience, scopes: readonly Scope[], caveats: readonly Caveat[]): string {
    return mintToken(this.#roots, { tid: newTid(this.#platform.random), aud, scopes, caveats })
  }

  /** A token for the node's own services to call each other with: the same until the key is rotated. */
  ownToken(aud: Audience, scopes: readonly Scope[]): string {
    const key = `${aud} ${scopes.join(' ')}`
    const token = this.#own.get(key) ?? this.mint(aud, scopes, [])
    this.#own.set(key, token)
    return token
  }

  /** A bundle that may do everything at every service. */
  adminBundle(): string {
    const mintOne = (aud: Audience): string => mintAdminToken(this.#roots, { tid: newTid(this.#platform.random), aud })
    return joinTokens(AUDIENCES.map(mintOne))
  }

  /** A new active root; the former one still verifies for a day. Returns the new kid. */
  async rotate(): Promise<string> {
    using _turn = await this.#turn.acquire()
    return await this.#data.exclusively(async () => {
      await this.#read()
      const { kid, key } = makeRootKey(this.#platform)
      const times = { nowMs: this.#platform.clock.wall(), overlapMs: ROTATION_OVERLAP_MS }
      const next = rotateKeyring(this.#roots, { kid, secret: key }, times)
      await this.#data.replaceSecret('token-root', encodeKeyring(next))
      this.#use(next)
      return kid
    })
  }

  /** The token is refused from now on, everywhere on this node. */
  async revoke(tid: string): Promise<void> {
    using _turn = await this.#turn.acquire()
    await this.#data.exclusively(async () => {
      await this.#read()
      const next = new Set([...this.#revoked, tid])
      await this.#data.replaceSecret(REVOKED, canonicalJson([...next].sort()))
      this.#revoked = next
    })
  }

  /** Kids and their states, without the secrets. */
  describe(): { kid: string; state: string; not_after: number | null }[] {
    return this.#roots.keys.map(({ kid, state, notAfter }) => ({ kid, state, not_after: notAfter ?? null }))
  }

  /** What the files say now, where somebody else may have written them. */
  async #read(): Promise<void> {
    if (!this.#data.isShared) return
    const roots = await this.#data.latest('token-root')
    if (!this.#platform.crypto.equal(roots, encodeKeyring(this.#roots))) this.#use(decodeKeyring(roots))
    this.#revoked = tidsOf(await this.#data.latest(REVOKED))
  }

  #use(roots: Keyring): void {
    this.#roots = roots
    this.#rings = ringsOf(roots)
    this.#own.clear()
  }
}

function tidsOf(bytes: Uint8Array): ReadonlySet<string> {
  const tids = parseJson(bytes)
  return new Set(Array.isArray(tids) ? tids.map(String) : [])
}

function ringsOf(roots: Keyring): ReadonlyMap<Audience, Keyring> {
  return new Map(AUDIENCES.map((audience) => [audience, deriveKeyring(roots, audience)]))
}

function newTid(random: Random): Uint8Array {
  return random.bytes(16)
}
