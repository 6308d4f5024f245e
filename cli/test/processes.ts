/** The command line as a shell runs it: a process, its two streams, its exit code. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

const LAUNCHER = fileURLToPath(new URL('../bin/cairn.js', import.meta.url))

/** A process that takes longer hangs. */
const WAIT_MS = 60_000
/** For a node that many commands are run against, on a machine that may be busy. */
export const NODE_WAIT_MS = 300_000

export interface Ran {
  readonly code: number | null
  readonly data: string
  readonly words: string
}

interface LaunchOptions {
  readonly directory: string
  /** What runs the launcher. */
  readonly program?: string
  readonly launcher?: string
  readonly environment?: Readonly<Record<string, string>>
  /** A standard input to write to, instead of none. */
  readonly input?: 'pipe'
  readonly waitMs?: number
}

function launch(args: readonly string[], options: LaunchOptions): ChildProcess {
  const {
    directory,
    program = process.execPath,
    launcher = LAUNCHER,
    environment = {},
    input = 'ignore',
    waitMs = WAIT_MS,
  } = options
  return spawn(program, [launcher, ...args], {
    cwd: directory,
    env: { PATH: process.env['PATH'], ...environment },
    stdio: [input, 'pipe', 'pipe'],
    timeout: waitMs,
    killSignal: 'SIGKILL',
  })
}

async function run(args: readonly string[], options: LaunchOptions): Promise<Ran> {
  const child = launch(args, options)
  const ended = once(child, 'close')
  const [data, words] = await Promise.all([text(child.stdout!), text(child.stderr!)])
  await ended
  return { code: child.exitCode, data, words }
}

/** The first line of its standard output, once it is there. */
export async function firstLine(child: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: child.stdout! })) return line
  throw new Error('It ended without a line.')
}

/** A directory that goes away with the test, and processes in it that do too. */
export class Workplace implements AsyncDisposable {
  readonly directory: string
  readonly #children: ChildProcess[] = []

  private constructor(directory: string) {
    this.directory = directory
  }

  /** Short: a socket's path has about a hundred characters. */
  static async make(parent: string = tmpdir()): Promise<Workplace> {
    return new Workplace(await realpath(await mkdtemp(join(parent, 'cairn-'))))
  }

  launch(args: readonly string[], more: Omit<LaunchOptions, 'directory'> = {}): ChildProcess {
    const child = launch(args, { directory: this.directory, ...more })
    this.#children.push(child)
    return child
  }

  async run(args: readonly string[], more: Omit<LaunchOptions, 'directory'> = {}): Promise<Ran> {
    return await run(args, { directory: this.directory, ...more })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) {
      if (child.exitCode !== null || child.signalCode !== null) continue
      child.kill('SIGKILL')
      await once(child, 'close')
    }
    await rm(this.directory, { recursive: true })
  }
}
