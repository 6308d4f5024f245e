/** What the cases of the storage bench share: a directory on a real drive, servers, the objects they serve. */
import { mkdirSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Program } from './programs.ts'
import { putObject, type Server, type StorageNode, startBare, startNginx, startNode } from './servers.ts'
import { StampedBytes } from './stamped.ts'

/** Among the dependencies: on the drive the repository is on, and in nobody's way. `/tmp` may be memory. */
const PLACE = fileURLToPath(new URL('../../node_modules/.cache/cairn-bench-', import.meta.url))
const TMPFS = 0x01021994

export class Workplace implements AsyncDisposable {
  readonly directory: string
  readonly #nginx: string
  readonly #nodes = new Map<string, Promise<StorageNode>>()
  readonly #bare = new Map<number, Promise<Server>>()
  #peer: Promise<Server> | undefined
  #many: Promise<void> | undefined

  constructor(nginx: string) {
    mkdirSync(join(PLACE, '..'), { recursive: true })
    this.directory = mkdtempSync(PLACE)
    if (statfsSync(this.directory).type === TMPFS) throw new Error('The bench needs a real drive, not memory.')
    this.#nginx = nginx
  }

  /** A node with these keys of `[storage]`; started once for each name. */
  async node(name: string, keys: Readonly<Record<string, string | number>> = {}): Promise<StorageNode> {
    const started = this.#nodes.get(name) ?? startNode(join(this.directory, name), keys)
    this.#nodes.set(name, started)
    return await started
  }

  async peer(): Promise<Server> {
    this.#peer ??= startNginx(this.#nginx, join(this.directory, 'nginx'), join(this.directory, 'files'))
    return await this.#peer
  }

  /** A bare server of so many bytes. */
  async bare(length: number): Promise<Server> {
    const started = this.#bare.get(length) ?? startBare(length)
    this.#bare.set(length, started)
    return await started
  }

  /** New bytes, with the node and as a file of the peer, under the same path. */
  async publish(node: StorageNode, length: number): Promise<string> {
    const bytes = new StampedBytes(length).next()
    const path = await putObject(node, bytes)
    await mkdir(join(this.directory, 'files', 'o'), { recursive: true })
    await writeFile(join(this.directory, 'files', path), bytes)
    return path
  }

  get manyPath(): string {
    return join(this.directory, 'many', 'data', 'storage')
  }

  /** A store with so many objects, made once. */
  async many(count: number): Promise<void> {
    this.#many ??= this.#buildMany(count)
    await this.#many
  }

  async #buildMany(count: number): Promise<void> {
    // A node makes the directory, so that a node takes it for its own later.
    const node = await startNode(join(this.directory, 'many'))
    await node[Symbol.asyncDispose]()
    const script = new URL('./many-objects.ts', import.meta.url)
    const output = await Program.node(script, ['build', this.manyPath, String(count)]).output()
    if (!output.startsWith('built')) throw new Error('The store could not be built.')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const servers = await Promise.allSettled([
      ...this.#nodes.values(),
      ...this.#bare.values(),
      ...(this.#peer === undefined ? [] : [this.#peer]),
    ])
    for (const server of servers) if (server.status === 'fulfilled') await server.value[Symbol.asyncDispose]()
    rmSync(this.directory, { recursive: true, force: true })
  }
}
