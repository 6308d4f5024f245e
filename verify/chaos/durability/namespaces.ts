/**
 * A network of machines: a namespace for each, with one cable to a switch. A cable can be pulled.
 *
 *     switch (bridge in a namespace of its own) ─┬─ 10.77.0.1  a
 *                                                ├─ 10.77.0.2  b
 *                                                └─ 10.77.0.3  c
 */
import { execFileSync, spawnSync } from 'node:child_process'

export class Switchboard implements Disposable {
  readonly #prefix = `cairn-${process.pid}`
  readonly #names: readonly string[]

  constructor(names: readonly string[]) {
    this.#names = names
    try {
      ip('netns', 'add', this.#switch)
      this.#ip('link', 'add', 'br0', 'type', 'bridge')
      this.#ip('link', 'set', 'br0', 'up')
      for (const name of names) this.#plug(name)
    } catch (error) {
      this[Symbol.dispose]()
      throw error
    }
  }

  addressOf(name: string): string {
    return `10.77.0.${this.#names.indexOf(name) + 1}`
  }

  /** What runs a program in the machine of this name. */
  inside(name: string): [string, ...string[]] {
    return ['ip', 'netns', 'exec', this.#machine(name), process.execPath]
  }

  pull(name: string): void {
    this.#ip('link', 'set', `p-${name}`, 'down')
  }

  plugIn(name: string): void {
    this.#ip('link', 'set', `p-${name}`, 'up')
  }

  [Symbol.dispose](): void {
    for (const space of [...this.#names.map((name) => this.#machine(name)), this.#switch])
      spawnSync('ip', ['netns', 'delete', space], { stdio: 'ignore' })
  }

  #plug(name: string): void {
    const machine = this.#machine(name)
    ip('netns', 'add', machine)
    this.#ip('link', 'add', `p-${name}`, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', machine)
    this.#ip('link', 'set', `p-${name}`, 'master', 'br0', 'up')
    ip('-netns', machine, 'address', 'add', `${this.addressOf(name)}/24`, 'dev', 'eth0')
    ip('-netns', machine, 'link', 'set', 'eth0', 'up')
    ip('-netns', machine, 'link', 'set', 'lo', 'up')
  }

  get #switch(): string {
    return `${this.#prefix}-switch`
  }

  #machine(name: string): string {
    return `${this.#prefix}-${name}`
  }

  #ip(...words: readonly string[]): void {
    ip('-netns', this.#switch, ...words)
  }
}

function ip(...words: readonly string[]): void {
  execFileSync('ip', words, { stdio: ['ignore', 'ignore', 'pipe'] })
}

/** Why there can be no such network here; undefined when there can. */
export function switchboardObstacle(): string | undefined {
  const tried = spawnSync('ip', ['netns', 'list'], { stdio: 'ignore' })
  if (tried.error !== undefined) return 'tool absent: ip'
  try {
    using _tried = new Switchboard(['x'])
    return undefined
  } catch (error) {
    return `tool absent: no permission for namespaces and bridges (${String(error).split('\n').at(-1) ?? ''})`
  }
}
