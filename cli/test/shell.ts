/** Somebody at a shell of their own: a home, a working directory, and nothing in common with anybody else. */
import { mkdir, writeFile } from 'node:fs/promises'
import { main } from '../src/main.ts'
import { Capture } from './capture.ts'
import { type Ran, Workplace } from './processes.ts'

export class Shell implements AsyncDisposable {
  readonly #place: Workplace
  #flags: readonly string[] = []

  private constructor(place: Workplace) {
    this.#place = place
  }

  static async open(): Promise<Shell> {
    const place = await Workplace.make()
    await mkdir(`${place.directory}/home`)
    return new Shell(place)
  }

  path(name: string): string {
    return `${this.#place.directory}/${name}`
  }

  /** From now on commands ask this registry, with this token. */
  async signIn(url: string, token: string): Promise<void> {
    await writeFile(this.path('token'), token)
    this.#flags = ['--node', url, '--token-file', this.path('token')]
  }

  /** A process of its own. */
  async run(...args: readonly string[]): Promise<Ran> {
    return await this.#place.run([...args, ...this.#flags], { environment: this.#environment })
  }

  /** In this process, which is quicker; the streams are the same. */
  async quick(...args: readonly string[]): Promise<Ran> {
    const terminal = new Capture({ environment: this.#environment })
    const code = await main([...args, ...this.#flags], terminal)
    return { code, data: terminal.data, words: terminal.words }
  }

  get #environment(): Record<string, string> {
    return { HOME: this.path('home') }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#place[Symbol.asyncDispose]()
  }
}

/** What differs from run to run, so that the rest can be compared word by word. */
export function masked(text: string): string {
  return text
    .replaceAll(/b3:[0-9a-f]{64}/g, 'b3:…')
    .replaceAll(/p_[0-9a-f]{32}/g, 'p_…')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replaceAll(/"expires_at":\d+/g, '"expires_at":TIME')
    .replaceAll(/(registry\.example\.org\/cairn)\/[0-9a-f]{16}/g, '$1/…')
    .replaceAll(/http:\/\/127\.0\.0\.1:\d+\/?/g, 'URL')
    .replaceAll(/\/\S*\/cairn-\w+/g, 'SHELL')
}
