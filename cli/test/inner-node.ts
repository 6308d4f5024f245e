/**
 * A whole node in this process, started and stopped by the commands for it: a sixth of what a process of its own costs.
 * For tests of what a node does. What a process does (signals, exit codes, being killed) needs one: see `processes.ts`.
 */
import assert from 'node:assert/strict'
import { main } from '../src/main.ts'
import { Capture } from './capture.ts'

export interface InnerNodeOptions {
  readonly data: string
  readonly config?: string
  readonly services?: string
  /** What it finds in the environment while it runs. */
  readonly environment?: Readonly<Record<string, string>>
}

/** Its log goes to the standard error of the tests, where only what is wrong belongs. */
const ENVIRONMENT = { CAIRN__NODE__LOG__LEVEL: 'error' }

export class InnerNode implements AsyncDisposable {
  readonly urls: Readonly<Record<string, readonly string[]>>
  readonly #data: string
  readonly #ended: Promise<void>
  #isStopped = false

  private constructor(urls: InnerNode['urls'], data: string, ended: Promise<void>) {
    this.urls = urls
    this.#data = data
    this.#ended = ended
  }

  /** Started, and ready. */
  static async start({ data, config, services, environment = {} }: InnerNodeOptions): Promise<InnerNode> {
    // Never that of whoever runs the tests.
    const leave = enter({ ...ENVIRONMENT, CAIRN_STATE: `${data}.state`, ...environment })
    const terminal = new Saying()
    const flags = Object.entries({ config, services }).flatMap(([flag, value]) =>
      value === undefined ? [] : [`--${flag}`, value],
    )
    const ended = main(['start', '--port-base', '0', '--data', data, ...flags], terminal).then((code) => {
      leave()
      terminal.end()
      assert.equal(code, 0, terminal.words)
    })
    await terminal.said
    if (terminal.data === '') await ended
    const { urls } = JSON.parse(terminal.data) as { urls: InnerNode['urls'] }
    return new InnerNode(urls, data, ended)
  }

  /** Asked over HTTP: the process that is waited for would be this one. */
  async stop(): Promise<void> {
    this.#isStopped = true
    const url = this.urls['node']?.find((each) => each.startsWith('http')) ?? ''
    const terminal = new Capture()
    const code = await main(['stop', '--node', url, '--token-file', `${this.#data}/admin.token`], terminal)
    assert.equal(code, 0, terminal.words)
    await this.#ended
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isStopped) await this.stop()
  }
}

/** Tells when the event of the start was written, or never will be. */
class Saying extends Capture {
  readonly #said = Promise.withResolvers<void>()
  readonly said = this.#said.promise

  override readonly write = (text: string): void => {
    this.data += text
    this.#said.resolve()
  }

  end(): void {
    this.#said.resolve()
  }
}

/** Puts these into the environment of this process; what is returned takes them out again. */
function enter(environment: Readonly<Record<string, string>>): () => void {
  const before = Object.keys(environment).map((name) => [name, process.env[name]] as const)
  Object.assign(process.env, environment)
  return () => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  }
}
