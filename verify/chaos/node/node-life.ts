/**
 * One life of a real node: the launcher's own process, on a directory that outlives it.
 *
 *     begin ─▶ ready, asked over HTTP ─┬─ kill: SIGKILL to the process that holds the files
 *                                      └─ stop: told to, and waited for
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Home, RunningNode } from '../../../node/test/running-node.ts'
import { HttpClient } from './http-client.ts'

export class NodeLife {
  readonly data: string
  readonly #node: RunningNode
  readonly #pid: number
  readonly #urls: Readonly<Record<string, readonly string[]>>
  readonly #token: string
  #isKilled = false

  private constructor(data: string, node: RunningNode, pid: number, urls: NodeLife['urls'], token: string) {
    this.data = data
    this.#node = node
    this.#pid = pid
    this.#urls = urls
    this.#token = token
  }

  /** Starts a node on what the last one left; throws if it does not become ready. */
  static async begin(home: Home, environment: Record<string, string>): Promise<NodeLife> {
    const node = home.start({ args: ['--port-base', '0'], environment })
    const { pid, urls } = await node.ready()
    const data = join(home.path, '.cairn')
    const token = (await readFile(join(data, 'admin.token'), 'utf8')).trim()
    return new NodeLife(data, node, pid, urls, token)
  }

  get urls(): Readonly<Record<string, readonly string[]>> {
    return this.#urls
  }

  /** False from the moment it is killed: an answer that comes later is still an answer, a lost connection no fault. */
  get isAlive(): boolean {
    return !this.#isKilled
  }

  /** Asks a service as its administrator. */
  client(service: string): HttpClient {
    const url = this.#urls[service]?.find((each) => each.startsWith('http:'))
    if (url === undefined) throw new Error(`${service} does not listen.`)
    return new HttpClient(url, this.#token)
  }

  /** At once, whatever it does; resolves when the system says it is gone. Throws if something else had ended it before. */
  async kill(): Promise<void> {
    this.#isKilled = true
    process.kill(this.#pid, 'SIGKILL')
    const { code, signal } = await this.#node.ended
    if (signal !== 'SIGKILL')
      throw new Error(`The node had ended by itself, with ${String(code ?? signal)}.\n${this.#tail()}`)
    this.#mustNotComplain()
  }

  /** Asks it to end, the way an operator does. */
  async stop(): Promise<void> {
    const { code, signal } = await this.#node.stop()
    if (code !== 0) throw new Error(`The node ended with ${String(code ?? signal)}.\n${this.#tail()}`)
    this.#mustNotComplain()
  }

  /** Lines of its log with this message. */
  logged(message: string): Record<string, unknown>[] {
    const lines = this.#node.stderr.all.filter((line) => line.includes(`"message":"${message}"`))
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  }

  /** Being killed is no reason for a node to find anything wrong, now or the next time. */
  #mustNotComplain(): void {
    const line = this.#node.stderr.all.find((each) => !each.startsWith('{') || /"level":"(?:error|fatal)"/.test(each))
    if (line !== undefined) throw new Error(`The node complains: ${line}\n${this.#tail()}`)
  }

  #tail(): string {
    return this.#node.stderr.all.slice(-20).join('\n')
  }
}
