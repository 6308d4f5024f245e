/** A registry in memory that tells what a test wants it to tell: its log is honest until somebody makes it lie. */
import type { CallContext, RegistryClient, RegistryEvent } from '@cairn/clients'
import { CairnError, Watch } from '@cairn/kernel'
import { type Artifact, encodeLeaf, encodeProof, type TrustFile } from '@cairn/names'
import { HASH_BYTES, leafHash, TILE_WIDTH } from '@cairn/tlog'
import { TestRegistry } from '../../../packages/names/test/registry.ts'
import { signer } from '../../../packages/names/test/signers.ts'

export const SIGNERS = [signer(1), signer(2), signer(3)]

/** Another history of the same registry, signed by its own key. */
export function fork(names: readonly string[]): TestRegistry {
  const other = new TestRegistry(SIGNERS, 2)
  for (const name of names) other.setName(name, 'f')
  return other
}

/** What is told in place of the truth. */
export interface Lies {
  checkpoint?: () => Uint8Array
  entry?: (index: number, honest: Uint8Array) => Uint8Array
  tile?: (index: number, honest: Uint8Array) => Uint8Array
  proof?: (honest: Uint8Array) => Uint8Array
  trust?: TrustFile
}

type Asked = 'checkpoint' | 'tile' | 'entries' | 'version' | 'proof' | 'trust' | 'showCheckpoint' | 'stream'

export class LyingRegistry {
  log = new TestRegistry(SIGNERS, 2)
  lies: Lies = {}
  /** Nobody answers. */
  isGone = false
  /** Entries below this one were removed. */
  minimumIndex = 0
  /** What was asked, and how often. */
  readonly asked = new Map<string, number>()
  /** Checkpoints that somebody had seen of this log. */
  readonly shown: Uint8Array[] = []
  readonly #told = new Watch<readonly RegistryEvent[]>([])

  /** From now on this is the log. */
  show(log: TestRegistry): void {
    this.log = log
  }

  /** Sends an event, true or not. */
  tell(event: RegistryEvent): void {
    this.#told.set([...this.#told.value, event])
  }

  /** Tells of HEAD as it is. */
  tellHead(): void {
    const { version, hash } = this.log.head
    const { payload_b3, committed_at } = this.#artifact(version)
    this.tell({ tag: 'update', facts: { version, hash, payload_b3, committed_at } })
  }

  get client(): RegistryClient {
    const client: Pick<RegistryClient, Asked> = {
      checkpoint: async () => await this.#answer('checkpoint', () => this.lies.checkpoint?.() ?? this.log.checkpoint()),
      tile: async ({ level, index, width }) =>
        await this.#answer('tile', () => {
          if (level !== 0) throw new Error('Only hashes of entries are asked for.')
          const hashes = this.#entries(index, width).map(leafHash)
          const tile = new Uint8Array(width * HASH_BYTES)
          hashes.forEach((hash, at) => {
            tile.set(hash, at * HASH_BYTES)
          })
          return this.lies.tile?.(index, tile) ?? tile
        }),
      entries: async (index, width) =>
        await this.#answer('entries', () => {
          if ((index + 1) * TILE_WIDTH <= this.minimumIndex) throw pruned()
          const entries = this.#entries(index, width)
          return entries.map((entry, at) => this.lies.entry?.(index * TILE_WIDTH + at, entry) ?? entry)
        }),
      version: async (version) => await this.#answer('version', () => this.#artifact(version)),
      proof: async (subject, from) => {
        const { log } = this
        const proof = await ('name' in subject ? log.nameProof(subject.name) : log.versionProof(subject.version))
        const consistency = from === undefined ? {} : { consistency: await log.consistency(from) }
        const bytes = encodeProof({ ...proof, ...consistency })
        return await this.#answer('proof', () => this.lies.proof?.(bytes) ?? bytes)
      },
      trust: async () => await this.#answer('trust', () => this.lies.trust ?? this.log.trust()),
      showCheckpoint: async (note) =>
        await this.#answer('shown', () => {
          this.shown.push(note)
          return false
        }),
      stream: (_after, context) => this.#stream(context),
    }
    return client as RegistryClient
  }

  #artifact(version: number): Artifact {
    const commit = this.log.commits[version]
    if (commit === undefined) throw new CairnError('NotFound', `There is no version ${version}.`)
    return commit.artifact
  }

  #entries(index: number, width: number): Uint8Array[] {
    return this.log.leaves.slice(index * TILE_WIDTH, index * TILE_WIDTH + width).map(encodeLeaf)
  }

  async #answer<T>(what: string, give: () => T): Promise<T> {
    this.asked.set(what, (this.asked.get(what) ?? 0) + 1)
    await Promise.resolve()
    if (this.isGone) throw new CairnError('Timeout', 'Nobody answers.', { code: 'unreachable', status: 502 })
    return give()
  }

  async *#stream({ signal }: CallContext): AsyncGenerator<RegistryEvent> {
    let told = this.#told.value.length
    for (;;) {
      const events = await this.#told.until(({ length }) => length > told, signal === undefined ? {} : { signal })
      for (const event of events.slice(told)) yield event
      told = events.length
    }
  }
}

function pruned(): CairnError {
  return new CairnError('NotFound', 'These entries were removed.', { code: 'Pruned', status: 410 })
}
