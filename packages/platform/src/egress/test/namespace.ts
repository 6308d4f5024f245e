/**
 * A network of its own: a namespace with nothing but a loopback device, on which the test puts whatever addresses
 * it likes. Nothing can leave it, and it is gone with the test.
 */
import { execFileSync, spawnSync } from 'node:child_process'

/** Why a namespace cannot be made here; undefined when it can. */
export function namespaceObstacle(): string | undefined {
  const tried = spawnSync('ip', ['netns', 'list'], { stdio: 'ignore' })
  if (tried.error !== undefined) return 'tool absent: ip'
  const name = `cairn-try-${process.pid}`
  const made = spawnSync('ip', ['netns', 'add', name], { encoding: 'utf8' })
  if (made.status !== 0) return `tool absent: no permission for ip netns (${made.stderr.trim()})`
  spawnSync('ip', ['netns', 'delete', name])
  return undefined
}

export class Namespace implements Disposable {
  readonly #name: string

  constructor(addresses: readonly string[]) {
    this.#name = `cairn-egress-${process.pid}`
    ip('netns', 'add', this.#name)
    try {
      this.#ip('link', 'set', 'lo', 'up')
      for (const address of addresses) {
        if (address.includes(':')) this.#ip('-6', 'address', 'add', `${address}/128`, 'dev', 'lo', 'nodad')
        else this.#ip('address', 'add', `${address}/32`, 'dev', 'lo')
      }
    } catch (error) {
      this[Symbol.dispose]()
      throw error
    }
  }

  /** Runs a Node program inside, to its end; what it writes to standard output. */
  run(program: URL): string {
    return execFileSync('ip', ['netns', 'exec', this.#name, process.execPath, program.pathname], {
      encoding: 'utf8',
      timeout: 20_000,
      stdio: ['ignore', 'pipe', 'inherit'],
      // Proxies that would be asked if anybody listened to the environment.
      env: { ...process.env, HTTPS_PROXY: 'http://127.0.0.1:3128', HTTP_PROXY: 'http://127.0.0.1:3128' },
    })
  }

  [Symbol.dispose](): void {
    spawnSync('ip', ['netns', 'delete', this.#name], { stdio: 'ignore' })
  }

  #ip(...words: readonly string[]): void {
    ip('-netns', this.#name, ...words)
  }
}

function ip(...words: readonly string[]): void {
  execFileSync('ip', words, { stdio: ['ignore', 'ignore', 'inherit'] })
}
