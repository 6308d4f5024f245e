/** One node and one way to look at every command that is given to it; all of it in this process. */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { main } from '../src/main.ts'
import { Capture } from './capture.ts'
import { Workplace } from './processes.ts'
import { type Form, masked, type Seen, screen, shortened } from './screen-forms.ts'

export interface ShowOptions {
  /** Standard input. */
  readonly input?: string
  /** Of what is long and told elsewhere, only the first lines. */
  readonly linesMax?: number
  /** Another title than the command, for a second look at the same one. */
  readonly title?: string
  /** How wide its columns are differs from run to run. */
  readonly isRagged?: boolean
}

export class ScreenStage implements AsyncDisposable {
  /** What each command looks like here, by its title. */
  readonly screens = new Map<string, Seen & { readonly text: string }>()
  readonly form: Form
  readonly #place: Workplace

  private constructor(form: Form, place: Workplace) {
    this.form = form
    this.#place = place
  }

  /** In a place whose name is as long on every machine: where a line is broken depends on it. */
  static async open(form: Form): Promise<ScreenStage> {
    return new ScreenStage(form, await Workplace.make('/tmp'))
  }

  path(name: string): string {
    return join(this.#place.directory, name)
  }

  async write(name: string, content: string | Uint8Array): Promise<string> {
    await mkdir(dirname(this.path(name)), { recursive: true })
    await writeFile(this.path(name), content)
    return this.path(name)
  }

  get #environment(): Record<string, string> {
    return { HOME: this.path('home'), CAIRN_DATA: this.path('data'), CAIRN_STATE: process.env['CAIRN_STATE'] ?? '' }
  }

  /** Runs a command, keeps what it looks like, and gives the data it printed. */
  async show(args: readonly string[], options: ShowOptions = {}): Promise<Seen> {
    const terminal = this.form.terminal(this.#environment, options.input ?? '')
    const code = await main([...args, ...this.form.flags], terminal)
    return this.keep(args, { code, data: terminal.data, words: terminal.words }, options)
  }

  keep(args: readonly string[], seen: Seen, { linesMax = 200, title, isRagged = false }: ShowOptions = {}): Seen {
    const mask = (text: string): string => {
      const state = process.env['CAIRN_STATE'] ?? 'STATE'
      const same = shortened(masked(text, this.#place.directory).replaceAll(state, 'STATE'), linesMax)
      return isRagged ? same.replaceAll(/ {2,}/g, '  ') : same
    }
    const shown = { code: seen.code, data: mask(seen.data), words: mask(seen.words) }
    const typed = mask(['cairn', ...args, ...this.form.flags].join(' '))
    const name = title ?? args.slice(0, 2).join(' ')
    this.screens.set(name, { ...shown, text: screen(typed, shown) })
    return seen
  }

  /** Runs a command that nobody looks at, for what it prints. */
  async told(...args: readonly string[]): Promise<string> {
    const { code, data, words } = await this.#run(args)
    if (code !== 0) throw new Error(`cairn ${args.join(' ')}: ${words}`)
    return data.trim()
  }

  /** Whether a command that nobody looks at succeeds by now. */
  async succeeds(...args: readonly string[]): Promise<boolean> {
    return (await this.#run(args)).code === 0
  }

  async #run(args: readonly string[]): Promise<Seen> {
    const terminal = new Capture({ environment: this.#environment })
    const code = await main(args, terminal)
    return { code, data: terminal.data, words: terminal.words }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#place[Symbol.asyncDispose]()
  }
}
