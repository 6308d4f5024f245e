/**
 * Where the story plays: one who runs the node, three who sign, and the rest of the world. All of them have two tools,
 * `cairn` and `curl`.
 *
 *     operator/   cairn.toml, roots.json, .cairn, site/     alice/  bob/  carol/   a home each, with a key that stays there
 *     keeper/     a second machine, for what is restored
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { SystemClock, sleep } from '@cairn/kernel'
import { main } from '../../cli/src/main.ts'
import { Capture } from '../../cli/test/capture.ts'
import { firstLine, NODE_WAIT_MS, type Ran, Workplace } from '../../cli/test/processes.ts'
import { type CurlAnswer, curl } from '../../node/test/curl.ts'

/** However busy the machine is. */
const TIMEOUT_MS = 30_000
const LOOK_EVERY_MS = 50
/** To start a process for each of the fifty commands takes longer than all that they do. */
const HAS_TIME = process.env['CAIRN_LONG'] === '1'
const CLOCK = new SystemClock()

export type Urls = Readonly<Record<string, readonly string[]>>

/** What runs the services: one process, or several from the same configuration. */
export interface Deployment {
  /** Starts all that is not running; where each service is, once every one is ready. */
  start(): Promise<Urls>
  /** `kill -9`, all of it. */
  kill(): Promise<void>
}

export class Testbed implements AsyncDisposable {
  readonly place: Workplace
  urls: Urls = {}
  /** What is set where nodes are started, for the commands that are typed there. */
  nodeEnvironment: Readonly<Record<string, string>> = {}

  private constructor(place: Workplace) {
    this.place = place
  }

  static async open(): Promise<Testbed> {
    const testbed = new Testbed(await Workplace.make())
    for (const who of ['operator', 'keeper', 'alice', 'bob', 'carol']) await mkdir(testbed.path(who))
    return testbed
  }

  path(name: string): string {
    return join(this.place.directory, name)
  }

  url(service: string, path: string): string {
    return new URL(path, this.urls[service]?.[0]).href
  }

  async write(name: string, content: string | Uint8Array): Promise<string> {
    await mkdir(dirname(this.path(name)), { recursive: true })
    await writeFile(this.path(name), content)
    return this.path(name)
  }

  async read(name: string): Promise<Buffer> {
    return await readFile(this.path(name))
  }

  /** Somebody runs `cairn`, in a home of their own: a process, or the same command line in this one. */
  async run(who: string, ...args: readonly string[]): Promise<Ran> {
    const hasNode = who === 'operator' || who === 'keeper'
    const where = hasNode ? ['--data', this.path(`${who}/.cairn`)] : this.#signedIn(who, args)
    const environment = { HOME: this.path(who), ...(hasNode ? this.nodeEnvironment : {}) }
    if (HAS_TIME) return await this.place.run([...args, ...where], { environment })
    const terminal = new Capture({ environment })
    const code = await main([...args, ...where], terminal)
    return { code, data: terminal.data, words: terminal.words }
  }

  /** Signers hold a token for the registry and nothing else; what asks nobody needs none. */
  #signedIn(who: string, args: readonly string[]): readonly string[] {
    const isLocal = args[0] === 'key' || args[0] === 'verify-proof'
    return isLocal ? [] : ['--node', this.url('registry', '/'), '--token-file', this.path(`${who}/token`)]
  }

  /** The one thing on standard output of a command that has to succeed. */
  async told(who: string, ...args: readonly string[]): Promise<string> {
    const { code, data, words } = await this.run(who, ...args)
    assert.equal(code, 0, `${who}: cairn ${args.join(' ')}: ${words}`)
    return data.trim()
  }

  /** Does it once a file is being put and before it is; the exit code of that put. */
  async whileSending(file: string, act: () => Promise<void>): Promise<number | null> {
    const args = ['put', file, '--progress=json', '--data', this.path('operator/.cairn')]
    const child = this.place.launch(args, { environment: { HOME: this.path('operator') } })
    const ended = once(child, 'close')
    child.stdout?.resume()
    await new Promise((resolve) => {
      child.stderr?.once('data', resolve)
    })
    await act()
    child.stderr?.resume()
    await ended
    return child.exitCode
  }

  async curl(service: string, path: string, ...args: readonly string[]): Promise<CurlAnswer> {
    return await curl([this.url(service, path), ...args])
  }

  /** The answer of `curl` once it is right: what one service learns of another takes a moment. */
  async eventually(isRight: (answer: CurlAnswer) => boolean, ...ask: Parameters<Testbed['curl']>): Promise<CurlAnswer> {
    const until = CLOCK.now() + TIMEOUT_MS
    for (;;) {
      const answer = await this.curl(...ask)
      if (isRight(answer)) return answer
      assert.ok(CLOCK.now() < until, `${ask.join(' ')} still answers ${answer.status} ${answer.body.toString()}`)
      await sleep(CLOCK, LOOK_EVERY_MS)
    }
  }

  /** Every file below a directory, with its bytes. */
  async *files(directory: string): AsyncGenerator<{ path: string; bytes: Buffer }> {
    for (const entry of await readdir(this.path(directory), { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue
      const path = join(entry.parentPath, entry.name)
      yield { path, bytes: await readFile(path) }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.place[Symbol.asyncDispose]()
  }
}

/** All five services in one process, as `cairn start` runs them. */
export function oneProcess(
  testbed: Testbed,
  environment: Readonly<Record<string, string>>,
  who: 'operator' | 'keeper' = 'operator',
): Deployment {
  let node: ReturnType<Workplace['launch']> | undefined
  return {
    start: async () => {
      const places = ['--data', testbed.path(`${who}/.cairn`), '--config', testbed.path('operator/cairn.toml')]
      node = testbed.place.launch(['start', '--port-base', '0', ...places], {
        environment: { HOME: testbed.path(who), ...environment },
        waitMs: NODE_WAIT_MS,
      })
      // A pipe nobody reads fills up, and then its writer waits.
      node.stderr?.resume()
      return (JSON.parse(await firstLine(node)) as { urls: Urls }).urls
    },
    kill: async () => {
      if (node === undefined || node.exitCode !== null || node.signalCode !== null) return
      const gone = once(node, 'exit')
      node.kill('SIGKILL')
      await gone
    },
  }
}
