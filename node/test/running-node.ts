/** A real node in a process and a directory of its own, for tests that look at it from outside. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { ReadyEvent } from '../src/main.ts'

export const LAUNCHER = fileURLToPath(new URL('../../cli/bin/cairn.js', import.meta.url))

/** Every process gives up after this, so that a test that waits in vain says so. */
const WAIT_MS = 60_000

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** A stopped node keeps its ports open for the lame duck; only the tests that are about it wait for that. */
const NO_LAME_DUCK = Object.fromEntries(
  ['NODE', 'STORAGE', 'INDEX', 'REGISTRY', 'EDGE', 'INTEROP'].map((name) => [`CAIRN__${name}__LAME_DUCK`, '0s']),
)

/** Lines of a stream, kept, with a way to wait for one. */
class Lines {
  readonly all: string[] = []
  #onLine: (() => void) | undefined
  #hasEnded = false

  constructor(stream: Readable) {
    const lines = createInterface({ input: stream })
    lines.on('line', (line) => {
      this.all.push(line)
      this.#onLine?.()
    })
    lines.on('close', () => {
      this.#hasEnded = true
      this.#onLine?.()
    })
  }

  get text(): string {
    return this.all.map((line) => `${line}\n`).join('')
  }

  /** The first line, past or to come, that `fits`. */
  async find(fits: (line: string) => boolean): Promise<string> {
    for (;;) {
      const found = this.all.find(fits)
      if (found !== undefined) return found
      if (this.#hasEnded) throw new Error(`The stream ended without that line:\n${this.text}`)
      await new Promise<void>((resolve) => {
        this.#onLine = resolve
      })
    }
  }
}

export interface StartOptions {
  readonly args?: readonly string[]
  readonly environment?: Record<string, string>
  /** What runs the launcher: a program and its first arguments. */
  readonly under?: readonly [string, ...string[]]
  /** In a group of processes of its own, as a shell would start it. */
  readonly isGroup?: boolean
  /** After this it is killed, so that a test that waits in vain says so. */
  readonly limitMs?: number
}

export class RunningNode {
  readonly process: ChildProcess
  readonly stdout: Lines
  readonly stderr: Lines
  readonly ended: Promise<Ended>

  constructor(
    directory: string,
    { args = [], environment = {}, under = [process.execPath], isGroup = false, limitMs = WAIT_MS }: StartOptions,
  ) {
    const [program, ...first] = under
    this.process = spawn(program, [...first, LAUNCHER, 'start', ...args], {
      cwd: directory,
      env: { PATH: process.env['PATH'], ...NO_LAME_DUCK, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: isGroup,
      timeout: limitMs,
      killSignal: 'SIGKILL',
    })
    this.stdout = new Lines(this.process.stdout!)
    this.stderr = new Lines(this.process.stderr!)
    this.ended = new Promise((resolve) => {
      this.process.once('close', (code, signal) => resolve({ code, signal }))
    })
  }

  /** What it says once every service has answered its own probe. */
  async ready(): Promise<ReadyEvent> {
    try {
      return JSON.parse(await this.stdout.find((line) => line.startsWith('{"event":"ready"'))) as ReadyEvent
    } catch (error) {
      throw new Error(`It did not become ready:\n${this.stderr.text}`, { cause: error })
    }
  }

  /** A log line with this message, as fields. */
  async logged(message: string): Promise<Record<string, unknown>> {
    const line = await this.stderr.find((text) => text.includes(`"message":"${message}"`))
    return JSON.parse(line) as Record<string, unknown>
  }

  signal(signal: NodeJS.Signals): void {
    this.process.kill(signal)
  }

  /** At once, the node behind a launcher included; nothing if it is gone. */
  kill(): void {
    const line = this.stdout.all[0]
    const { pid } = (line === undefined ? {} : JSON.parse(line)) as { pid?: number }
    for (const id of [this.process.pid, pid]) {
      try {
        if (id !== undefined && this.process.exitCode === null && this.process.signalCode === null)
          process.kill(id, 'SIGKILL')
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
      }
    }
  }

  async stop(): Promise<Ended> {
    this.signal('SIGTERM')
    return await this.ended
  }
}

/** A directory that goes away with the test, and nodes in it that do too. */
export class Home implements AsyncDisposable {
  readonly path: string
  readonly #nodes: RunningNode[] = []

  private constructor(path: string) {
    this.path = path
  }

  /** Short: a socket's path has about a hundred characters. */
  static async make(): Promise<Home> {
    return new Home(await realpath(await mkdtemp(join(tmpdir(), 'cairn-'))))
  }

  start(options: StartOptions = {}): RunningNode {
    const node = new RunningNode(this.path, options)
    this.#nodes.push(node)
    return node
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const node of this.#nodes) {
      node.kill()
      await node.ended
    }
    await rm(this.path, { recursive: true })
  }
}
