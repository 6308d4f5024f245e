/** Programs a bench runs beside itself. */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Where servers are installed, which is not on everybody's path. */
const MORE_PLACES: readonly string[] = ['/usr/sbin', '/usr/local/sbin']

/** The program's file, if it is installed. */
export function findProgram(name: string): string | undefined {
  const places = [...(process.env['PATH'] ?? '').split(delimiter), ...MORE_PLACES]
  return places.map((place) => join(place, name)).find((file) => existsSync(file))
}

export class Program implements AsyncDisposable {
  readonly #child: ChildProcess
  readonly #name: string
  readonly #exited: Promise<void>

  /** What it says of errors goes where ours do, unless it is a log. */
  constructor(file: string, options: readonly string[], errors: 'ignore' | 'inherit' = 'inherit') {
    this.#name = file
    this.#child = spawn(file, options, { stdio: ['pipe', 'pipe', errors] })
    this.#exited = new Promise((resolve, reject) => {
      this.#child.once('exit', () => resolve())
      this.#child.once('error', reject)
    })
  }

  /** A script of ours, under this very Node. */
  static node(script: URL, options: readonly string[], errors: 'ignore' | 'inherit' = 'inherit'): Program {
    return new Program(process.execPath, [fileURLToPath(script), ...options], errors)
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name)
  }

  /** The first line of its output. */
  async firstLine(): Promise<string> {
    let text = ''
    for await (const bytes of this.#child.stdout ?? []) {
      text += String(bytes)
      const end = text.indexOf('\n')
      if (end === -1) continue
      return text.slice(0, end)
    }
    throw new Error(`${this.#name} ended without a word.`)
  }

  /** All of its output, once it has ended. */
  async output(): Promise<string> {
    let text = ''
    for await (const bytes of this.#child.stdout ?? []) text += String(bytes)
    await this.#exited
    return text
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill(signal)
    await this.#exited
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }
}
