/** Five processes on a small drive of their own, each of which can be killed, stalled and told to read its configuration. */
import { type ChildProcess, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Semaphore, SystemClock, sleep } from '@cairn/kernel'
import { freePorts } from '@cairn/platform/testing'
import { firstLine, type Ran, Workplace } from '../../../cli/test/processes.ts'
import { HttpClient } from '../node/http-client.ts'
import { HOOK_SECRET, TOPIC } from './interop-actor.ts'

export const SERVICES = ['storage', 'registry', 'index', 'edge', 'interop'] as const
export type ServiceName = (typeof SERVICES)[number]

const OFFSETS: Readonly<Record<ServiceName, number>> = { storage: 1, index: 2, registry: 3, edge: 4, interop: 5 }
const CLOCK = new SystemClock()
const DRIVE_BYTES = 2048 * 1024 * 1024
/** Left on a drive that is full: less than anybody needs. */
const LEFT_BYTES = 64 * 1024
const SQUEEZES = 50
const LIFE_MS = 60 * 60_000
const RETRY_MS = 500
const LOG_LINES = 40

interface Life {
  readonly process: ChildProcess
  readonly log: string[]
  isWanted: boolean
  /** Before it is, a signal is not yet heard: the system ends it. */
  isReady: boolean
}

export class Machines implements AsyncDisposable {
  readonly kills = new Map<ServiceName, number>()
  /** Processes that ended by themselves, and starts that did not come to be: what they said last. */
  readonly fallen: string[] = []
  fulls = 0
  readonly #place: Workplace
  readonly #portBase: number
  readonly #lives = new Map<ServiceName, Life>()
  readonly #turns = new Map(SERVICES.map((service) => [service, new Semaphore(1)]))
  readonly #filling = new Semaphore(1)
  readonly #clients = new Map<string, HttpClient>()
  readonly #isMounted: boolean
  isFull = false
  #isClosing = false

  private constructor(place: Workplace, portBase: number, isMounted: boolean) {
    this.#place = place
    this.#portBase = portBase
    this.#isMounted = isMounted
  }

  static async make(): Promise<Machines> {
    const place = await Workplace.make()
    const drive = join(place.directory, 'drive')
    await mkdir(drive)
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${DRIVE_BYTES},mode=0700`, 'tmpfs', drive])
    const machines = new Machines(place, await freePorts(SERVICES.length + 1), mounted.status === 0)
    await machines.configure(256)
    return machines
  }

  /** Whether the drive can be filled without filling somebody else's. */
  get hasOwnDrive(): boolean {
    return this.#isMounted
  }

  get data(): string {
    return join(this.#place.directory, 'drive', 'data')
  }

  /** Asks a service as its administrator, whichever process it is by then. */
  async clients(): Promise<(service: string) => HttpClient> {
    const token = (await readFile(join(this.data, 'admin.token'), 'utf8')).trim()
    for (const service of SERVICES)
      this.#clients.set(service, new HttpClient(`http://127.0.0.1:${this.#portBase + OFFSETS[service]}`, token))
    return (service) => {
      const client = this.#clients.get(service)
      if (client === undefined) throw new Error(`There is no ${service}.`)
      return client
    }
  }

  /** Writes the configuration anew; a process takes it over when it is told to. */
  async configure(inflight: number, more = ''): Promise<void> {
    const toml = `${more}
[storage]
segment_bytes = "8MiB"
reserve_bytes = "32MiB"
upload_lease = "1s"
drive_timeout = "30s"
durability = { sweep_interval = "1s", scrub_pacing = "256MiB" }
ingress = { max_inflight = ${inflight} }

[interop]
rules = [{ provider = "github", event = "push", then = "mailbox:${TOPIC}" }]
mailbox = { visibility = "5s", max_deliveries = 100 }

[interop.providers.github]
enabled = true
secrets = [{ env = "DAY_SECRET" }]
`
    await writeFile(join(this.#place.directory, 'cairn.toml'), toml)
  }

  async startAll(): Promise<void> {
    await Promise.all(SERVICES.map(async (service) => await this.start(service)))
  }

  /** Starts it until it is ready: on a full drive that may take more than one attempt. */
  async start(service: ServiceName): Promise<void> {
    for (;;) {
      const life = this.#launch(service)
      try {
        await firstLine(life.process)
        life.isReady = true
        return
      } catch {
        if (this.#isClosing) return
        this.fallen.push(
          `${service} did not start${this.isFull ? ' on the full drive' : ''}: ${life.log.slice(-8).join(' | ')}`,
        )
        await sleep(CLOCK, RETRY_MS)
      }
    }
  }

  /** kill -9, a pause, and its next life. */
  async kill(service: ServiceName, pauseMs: number): Promise<void> {
    using _turn = await this.#turns.get(service)?.acquire()
    const life = this.#lives.get(service)
    if (life !== undefined) await end(life, 'SIGKILL')
    this.kills.set(service, (this.kills.get(service) ?? 0) + 1)
    await sleep(CLOCK, pauseMs)
    await this.start(service)
  }

  /** It is there and does nothing: whoever waits for it has to bear it. */
  async stall(service: ServiceName, ms: number): Promise<void> {
    using _turn = await this.#turns.get(service)?.acquire()
    const life = this.#lives.get(service)
    life?.process.kill('SIGSTOP')
    await sleep(CLOCK, ms)
    life?.process.kill('SIGCONT')
  }

  /** Every process reads its configuration again. */
  hangUp(): void {
    for (const { process: child, isReady } of this.#lives.values()) if (isReady) child.kill('SIGHUP')
  }

  /** Nothing can be written for this long. */
  async fill(ms: number): Promise<void> {
    using _turn = await this.#filling.acquire()
    const drive = join(this.#place.directory, 'drive')
    await squeeze(drive)
    this.isFull = true
    this.fulls += 1
    await sleep(CLOCK, ms)
    if (!resize(drive, DRIVE_BYTES)) throw new Error('The drive cannot be made larger again.')
    this.isFull = false
  }

  async cairn(...args: readonly string[]): Promise<Ran> {
    return await this.#place.run([...args, '--data', this.data])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosing = true
    for (const client of this.#clients.values()) client.close()
    for (const life of this.#lives.values()) await end(life, 'SIGKILL')
    if (this.#isMounted) spawnSync('umount', [join(this.#place.directory, 'drive')])
    await this.#place[Symbol.asyncDispose]()
  }

  #launch(service: ServiceName): Life {
    const flags = ['--services', service, '--port-base', String(this.#portBase), '--data', this.data]
    const child = this.#place.launch(['start', ...flags], { environment: { DAY_SECRET: HOOK_SECRET }, waitMs: LIFE_MS })
    const life: Life = { process: child, log: [], isWanted: true, isReady: false }
    this.#lives.set(service, life)
    if (child.stderr !== null)
      createInterface({ input: child.stderr }).on('line', (line) => {
        life.log.push(line)
        if (life.log.length > LOG_LINES) life.log.shift()
      })
    child.on('exit', (code, signal) => {
      if (!life.isWanted || this.#isClosing) return
      const full = this.isFull ? ' on the full drive' : ''
      this.fallen.push(
        `${service} ended by itself${full}, ${String(code ?? signal)}: ${life.log.slice(-8).join(' | ')}`,
      )
    })
    return life
  }
}

async function end(life: Life, signal: NodeJS.Signals): Promise<void> {
  life.isWanted = false
  const { process: child } = life
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill(signal)
  // One that was stalled has to be woken to be gone.
  child.kill('SIGCONT')
  await gone
}

/** Makes the drive as small as what is on it; tried again where more was written meanwhile than was left. */
async function squeeze(drive: string): Promise<void> {
  for (let tries = 0; tries < SQUEEZES; tries += 1) {
    const { blocks, bfree, bsize } = await statfs(drive)
    if (resize(drive, (blocks - bfree) * bsize + LEFT_BYTES)) return
  }
  throw new Error('The drive cannot be made smaller.')
}

function resize(drive: string, bytes: number): boolean {
  return spawnSync('mount', ['-o', `remount,size=${bytes}`, drive]).status === 0
}
