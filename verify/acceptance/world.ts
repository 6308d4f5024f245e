/** What a case is given: a directory that goes away, and nodes in it that are killed at its end. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { type NodeOptions, type Place, type Ran, RunningNode, runCairn } from './node.ts'
import { RawSocket } from './socket.ts'

const LOOK_EVERY_MS = 50

export interface Ground {
  /** The checkout under test. */
  readonly tree: string
  readonly directory: string
  readonly environment: Readonly<Record<string, string>>
}

export class World implements AsyncDisposable {
  /** The checkout under test. */
  readonly tree: string
  /** Empty, and its own. */
  readonly directory: string
  /** Aborted when the case's time is over. */
  readonly signal: AbortSignal
  readonly #environment: Readonly<Record<string, string>>
  readonly #owned: AsyncDisposable[] = []
  readonly #ending = new AbortController()
  #nodes = 0

  private constructor(tree: string, directory: string, environment: Readonly<Record<string, string>>) {
    this.tree = tree
    this.directory = directory
    this.signal = this.#ending.signal
    this.#environment = environment
  }

  static async open({ tree, directory, environment }: Ground): Promise<World> {
    // Short: the path of a socket has about a hundred characters.
    return new World(tree, await mkdtemp(join(directory, 'w-')), environment)
  }

  path(name: string): string {
    return join(this.directory, name)
  }

  async write(name: string, content: string | Uint8Array): Promise<string> {
    await mkdir(dirname(this.path(name)), { recursive: true })
    await writeFile(this.path(name), content)
    return this.path(name)
  }

  #placeOfNext(tree: string): Place {
    this.#nodes += 1
    return { directory: this.path(`node-${this.#nodes}`), tree, env: this.#environment }
  }

  /** A node that is ready. */
  async startNode(options: NodeOptions = {}): Promise<RunningNode> {
    const node = await this.launchNode(options)
    await node.ready()
    return node
  }

  /** A node that was only started; `ready()` waits for it. */
  async launchNode(options: NodeOptions = {}): Promise<RunningNode> {
    this.signal.throwIfAborted()
    return this.own(await RunningNode.launch(this.#placeOfNext(options.tree ?? this.tree), options))
  }

  /** Disposed of at the end of the case, the latest first. */
  own<T extends AsyncDisposable>(thing: T): T {
    this.#owned.push(thing)
    return thing
  }

  async socket(url: string): Promise<RawSocket> {
    return this.own(await RawSocket.open(url))
  }

  /** `cairn …` with nothing added, in the world's directory. */
  async cairn(args: readonly string[], env: Readonly<Record<string, string>> = {}, input?: string): Promise<Ran> {
    return await runCairn({ directory: this.directory, tree: this.tree, env: this.#environment }, args, env, input)
  }

  /** The first answer that is not undefined: for what takes a moment. The case's limit is the only one. */
  async eventually<T>(look: () => Promise<T | undefined>): Promise<T> {
    for (;;) {
      this.signal.throwIfAborted()
      const found = await look()
      if (found !== undefined) return found
      await wait(LOOK_EVERY_MS, undefined, { signal: this.signal })
    }
  }

  /** What every node said, to be read when the case has failed. */
  outputs(): string {
    const nodes = this.#owned.filter((each) => each instanceof RunningNode)
    return nodes.map((node, at) => `node ${at + 1} said:\n${node.output().slice(-4000)}`).join('\n')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort(new Error('The case is over.'))
    for (const thing of this.#owned.reverse()) await thing[Symbol.asyncDispose]()
    await rm(this.directory, { recursive: true, force: true })
  }
}
