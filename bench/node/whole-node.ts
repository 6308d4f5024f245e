/** A whole node as another process sees it: when it answers, what it takes while nobody asks. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const LAUNCHER = fileURLToPath(new URL('../../cli/bin/cairn.js', import.meta.url))
const LOOK_EVERY_MS = 5
const TIMEOUT_MS = 60_000
const PORTS = 6

export class WholeNode {
  /** From exec to the first 200 of `/readyz` on every port. */
  readonly readyMs: number
  readonly #process: ChildProcess

  private constructor(child: ChildProcess, readyMs: number) {
    this.#process = child
    this.readyMs = readyMs
  }

  /** Starts one on this directory and asks it until all of its ports say that they are ready. */
  static async start(data: string, portBase: number): Promise<WholeNode> {
    const startedAt = performance.now()
    const args = [LAUNCHER, 'start', '--data', data, '--port-base', String(portBase)]
    const env = { ...process.env, CAIRN_STATE: `${data}.state` }
    const child = spawn(process.execPath, args, { env, stdio: 'ignore' })
    for (let port = portBase; port < portBase + PORTS; port += 1) {
      while (!(await isReady(port))) {
        if (child.exitCode !== null || performance.now() - startedAt > TIMEOUT_MS)
          throw new Error(`The node does not answer on port ${port}.`)
        await sleep(LOOK_EVERY_MS)
      }
    }
    return new WholeNode(child, performance.now() - startedAt)
  }

  /** Resident, in MiB. */
  memory(): number {
    const [, kilobytes = '0'] = /^VmRSS:\s+(\d+) kB$/m.exec(this.#read('status')) ?? []
    return Number(kilobytes) / 1024
  }

  /** Percent of one core over this time. */
  async load(overMs: number): Promise<number> {
    const [from, startedAt] = [this.#ranMs(), performance.now()]
    await sleep(overMs)
    return (100 * (this.#ranMs() - from)) / (performance.now() - startedAt)
  }

  async stop(): Promise<void> {
    const gone = once(this.#process, 'exit')
    this.#process.kill('SIGTERM')
    await gone
  }

  /** Of all threads together; the system counts it in nanoseconds. */
  #ranMs(): number {
    const tasks = readdirSync(`/proc/${this.#process.pid ?? 0}/task`)
    const ran = tasks.map((task) => Number(this.#read(`task/${task}/schedstat`).split(' ')[0]))
    return ran.reduce((sum, nanoseconds) => sum + nanoseconds, 0) / 1e6
  }

  #read(file: string): string {
    return readFileSync(`/proc/${this.#process.pid ?? 0}/${file}`, 'utf8')
  }
}

async function isReady(port: number): Promise<boolean> {
  try {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`)
    await answer.arrayBuffer()
    return answer.status === 200
  } catch {
    return false
  }
}
