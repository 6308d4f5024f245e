/**
 * From a clone to the packed program: a kept directory of 0.1, and a cluster of three whose nodes are replaced one by one
 * while clients put and read objects that need a token to be read.
 */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { freePorts } from '@cairn/platform/testing'
import { bytesOf } from '../acceptance/bytes.ts'
import { RunningNode } from '../acceptance/node.ts'
import { Folder, REPOSITORY, run } from '../deploy/tool.ts'

const NODES = 3
const PORTS = 7
const WRITERS = 3
/** Written before, between and after the replacements. */
const OBJECTS_EACH = 20
const OBJECT_BYTES = 100_000
const LOOK_EVERY_MS = 20
const VERSION = '0.1.0'

/** Packs the program and installs it into an empty folder; its `dist`. */
function installPacked(root: string): string {
  const built = join(root, 'built')
  const folder = join(root, 'installed')
  mkdirSync(folder)
  writeFileSync(join(folder, 'package.json'), '{"private":true}\n')
  must(run(process.execPath, [join(REPOSITORY, 'tools/src/build.ts'), '--output', built]))
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund']
  must(run('npm', ['install', ...quiet, join(built, `cairnd-${VERSION}.tgz`)], folder))
  return join(folder, 'node_modules/cairnd/dist')
}

function must({ code, text }: ReturnType<typeof run>): void {
  assert.equal(code, 0, text)
}

/** Three nodes that keep two copies of each object among them, and answer no read without a token. */
class Cluster implements AsyncDisposable {
  readonly nodes: RunningNode[] = []
  readonly #root: string
  readonly #configs: string[] = []

  private constructor(root: string) {
    this.#root = root
  }

  static async start(root: string): Promise<Cluster> {
    const cluster = new Cluster(root)
    const own = '[storage]\nauth.read_requires_capability = true\ndurability.replication_factor = 2\n'
    // Alone at first: its token is made then, and the others have to know it.
    for (let at = 0; at < NODES; at += 1) await cluster.#launch(at, REPOSITORY, '', await freePorts(PORTS))
    for (const [at, node] of cluster.nodes.entries()) {
      await node.stop()
      const peers = cluster.nodes.flatMap((peer, other) => {
        const token = JSON.stringify(join(peer.data, 'admin.token'))
        return other === at ? [] : [`{ id = "n${other}", url = "${peer.urls.storage}/", token_file = ${token} }`]
      })
      cluster.#configs[at] = `${own}placement.id = "n${at}"\npeers = [${peers.join(', ')}]\n`
    }
    for (let at = 0; at < NODES; at += 1)
      await cluster.#launch(at, REPOSITORY, cluster.#configs[at], cluster.#portBase(at))
    return cluster
  }

  async replace(at: number, tree: string): Promise<void> {
    const ended = await this.nodes[at]?.stop()
    assert.deepEqual(ended, { code: 0, signal: null })
    await this.#launch(at, tree, this.#configs[at] ?? '', this.#portBase(at))
  }

  #portBase(at: number): number {
    return this.nodes[at]?.portBase ?? 0
  }

  async #launch(at: number, tree: string, config = '', portBase = 0): Promise<void> {
    const place = { directory: join(this.#root, `n${at}`), tree, env: {} }
    this.nodes[at] = await RunningNode.start(place, { config, portBase })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const node of this.nodes) await node[Symbol.asyncDispose]()
  }
}

/** What clients were told is there, by address; and how often they were refused or cut off meanwhile. */
class Load implements AsyncDisposable {
  readonly kept = new Map<string, Buffer>()
  retries = 0
  readonly #cluster: Cluster
  readonly #ending = new AbortController()
  readonly #failures: unknown[] = []
  readonly #writers: Promise<void>[]

  constructor(cluster: Cluster) {
    this.#cluster = cluster
    this.#writers = Array.from({ length: WRITERS }, async (_, writer) => {
      try {
        await this.#write(writer)
      } catch (error) {
        this.#failures.push(error)
        this.#ending.abort()
      }
    })
  }

  async end(): Promise<void> {
    this.#ending.abort()
    await Promise.all(this.#writers)
    assert.deepEqual(this.#failures, [])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort()
    await Promise.all(this.#writers)
  }

  /** Goes on until this many more objects are kept. */
  async grow(objects: number): Promise<void> {
    const wanted = this.kept.size + objects
    while (this.kept.size < wanted && !this.#ending.signal.aborted) await wait(LOOK_EVERY_MS)
    assert.deepEqual(this.#failures, [])
  }

  async #write(writer: number): Promise<void> {
    for (let nth = 0; !this.#ending.signal.aborted; nth += 1) {
      const bytes = bytesOf(OBJECT_BYTES, `${writer} ${nth}`)
      const address = await this.#put(bytes, writer + nth)
      this.kept.set(address, bytes)
      await this.#read(address, bytes, writer + nth + 1)
    }
  }

  /** At the first node that takes it, from the one at `first` on. */
  async #put(bytes: Buffer, first: number): Promise<string> {
    for (let at = first; ; at += 1) {
      const node = this.#cluster.nodes[at % NODES] as RunningNode
      try {
        return await node.put(bytes)
      } catch {
        this.retries += 1
        await wait(LOOK_EVERY_MS)
      }
    }
  }

  /** From any node: a node that is away refuses, none hands out other bytes, and none any bytes without a token. */
  async #read(address: string, bytes: Buffer, first: number): Promise<void> {
    for (let at = first; ; at += 1) {
      const node = this.#cluster.nodes[at % NODES] as RunningNode
      try {
        await mustBePrivate(node, address, bytes)
        const { status, body } = await node.request('storage', `/o/${address}`, { admin: true })
        if (status === 200) {
          assert.equal(Buffer.compare(body, bytes), 0)
          return
        }
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error
      }
      this.retries += 1
      await wait(LOOK_EVERY_MS)
    }
  }
}

async function mustBePrivate(node: RunningNode, address: string, bytes: Buffer): Promise<void> {
  const { status, body } = await node.request('storage', `/o/${address}`)
  assert.ok(status === 401 || status === 503, `read without a token: ${status}`)
  assert.equal(body.includes(bytes.subarray(0, 32)), false)
}

const folder = new Folder()
after(() => {
  folder[Symbol.dispose]()
})
const packed = installPacked(folder.path)

test('the kept directory of 0.1 opens, verifies and goes on with the packed program', () => {
  must(run(process.execPath, [join(REPOSITORY, 'verify/acceptance/main.ts'), '--tree', packed, 'format']))
})

test('three nodes are replaced by the packed program one by one under load, and nothing is lost or shown', async (t) => {
  await using cluster = await Cluster.start(folder.path)
  await using load = new Load(cluster)
  await load.grow(OBJECTS_EACH)
  for (let at = 0; at < NODES; at += 1) {
    await cluster.replace(at, packed)
    await load.grow(OBJECTS_EACH)
  }
  await load.end()
  for (const node of cluster.nodes) {
    assert.match(readFileSync(`/proc/${node.pid}/cmdline`, 'utf8'), /installed\/node_modules\/cairnd/)
    for (const [address, bytes] of load.kept) {
      const { status, body } = await node.request('storage', `/o/${address}`, { admin: true })
      assert.equal(status, 200, `${address}: ${body.toString().slice(0, 200)}`)
      assert.equal(Buffer.compare(body, bytes), 0)
      await mustBePrivate(node, address, bytes)
    }
  }
  t.diagnostic(`${load.kept.size} objects kept, private, at each of ${NODES} nodes; ${load.retries} retries meanwhile`)
})
