/** The test's side of `kad-peer.ts`: starts one, asks it, kills it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface, type Interface } from 'node:readline'

export class KadProcess implements AsyncDisposable {
  readonly #child: ChildProcess
  readonly #lines: AsyncIterator<string>
  readonly #reader: Interface
  #addresses: readonly string[] = []

  static async start(number: number, bootstrap: readonly string[] = []): Promise<KadProcess> {
    const started = new KadProcess(number, bootstrap)
    started.#addresses = (await started.#answer<{ addresses: readonly string[] }>()).addresses
    return started
  }

  private constructor(number: number, bootstrap: readonly string[]) {
    const script = new URL('kad-peer.ts', import.meta.url).pathname
    this.#child = spawn(process.execPath, [script, String(number), ...bootstrap], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    if (this.#child.stdout === null) throw new Error('The process has no output.')
    this.#reader = createInterface({ input: this.#child.stdout })
    this.#lines = this.#reader[Symbol.asyncIterator]()
  }

  get addresses(): readonly string[] {
    return this.#addresses
  }

  async provide(address: string): Promise<string> {
    return (await this.#ask<{ provided: string }>(`provide ${address}`)).provided
  }

  /** Who holds it, with a record that was verified. */
  async find(address: string): Promise<readonly string[]> {
    return (await this.#ask<{ found: readonly string[] }>(`find ${address}`)).found
  }

  async peers(): Promise<readonly string[]> {
    return (await this.#ask<{ peers: readonly string[] }>('peers')).peers
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    this.#child.kill('SIGKILL')
    await once(this.#child, 'exit')
  }

  /** Closes its node and waits until nothing keeps the process alive; its exit code. */
  async end(): Promise<number | null> {
    this.#child.stdin?.end()
    await once(this.#child, 'exit')
    return this.#child.exitCode
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill()
    this.#reader.close()
  }

  async #ask<Answer>(line: string): Promise<Answer> {
    this.#child.stdin?.write(`${line}\n`)
    return await this.#answer<Answer>()
  }

  async #answer<Answer>(): Promise<Answer> {
    const line = await this.#lines.next()
    if (line.done === true) throw new Error('The DHT process ended without an answer.')
    return JSON.parse(line.value) as Answer
  }
}
