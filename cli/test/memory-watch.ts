/** Large objects in and out of a node, and how much memory everybody takes for them. */
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createReadStream, readFileSync } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { SystemClock } from '@cairn/kernel'
import { SeededRandom } from '@cairn/kernel/testing'
import { createBlake3, toHex } from '@cairn/wire'
import { firstLine, Workplace } from './processes.ts'

export const MIB = 1024 * 1024
const SAMPLE_MS = 100

const clock = new SystemClock()

/** Memory of a process that is not files, in bytes; 0 once it is gone. */
function anonymousBytes(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    return Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024
  } catch {
    return 0
  }
}

export interface Watched {
  readonly data: string
  readonly words: string
  readonly seconds: number
  /** The most that the node, and the process that was run, held. */
  readonly nodeBytes: number
  readonly ownBytes: number
}

export class WatchedNode implements AsyncDisposable {
  readonly place: Workplace
  readonly #pid: number
  readonly #urls: Readonly<Record<string, readonly string[]>>
  readonly #waitMs: number

  private constructor(
    place: Workplace,
    pid: number,
    urls: Readonly<Record<string, readonly string[]>>,
    waitMs: number,
  ) {
    this.place = place
    this.#pid = pid
    this.#urls = urls
    this.#waitMs = waitMs
  }

  /** `waitMs` bounds every process, the node included. */
  static async start(waitMs: number, environment: Readonly<Record<string, string>> = {}): Promise<WatchedNode> {
    const place = await Workplace.make()
    const node = place.launch(['start', '--port-base', '0'], { waitMs, environment })
    const ready = JSON.parse(await firstLine(node)) as { pid: number; urls: Record<string, string[]> }
    return new WatchedNode(place, ready.pid, ready.urls, waitMs)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.place[Symbol.asyncDispose]()
  }

  get bytes(): number {
    return anonymousBytes(this.#pid)
  }

  async cairn(...args: string[]): Promise<Watched> {
    return await this.#watch(this.place.launch(args, { waitMs: this.#waitMs }))
  }

  /** Below the storage service, with every right. */
  async curl(path: string, ...args: string[]): Promise<Watched> {
    return await this.curlAt('storage', path, ...args)
  }

  /** Below this service, with every right. */
  async curlAt(service: string, path: string, ...args: string[]): Promise<Watched> {
    const token = (await readFile(`${this.place.directory}/.cairn/admin.token`, 'utf8')).trim()
    const all = ['-sS', '--fail', '-H', `Authorization: Bearer ${token}`, ...args, `${this.#urls[service]?.[0]}${path}`]
    return await this.#watch(spawn('curl', all, { cwd: this.place.directory, timeout: this.#waitMs }))
  }

  async #watch(child: ChildProcess): Promise<Watched> {
    const startedAt = clock.now()
    let nodeBytes = 0
    let ownBytes = 0
    let timer = clock.timer(0, sample)
    const sampleOnce = (): void => {
      nodeBytes = Math.max(nodeBytes, this.bytes)
      ownBytes = Math.max(ownBytes, anonymousBytes(child.pid ?? 0))
    }
    function sample(): void {
      sampleOnce()
      timer = clock.timer(SAMPLE_MS, sample)
    }
    let data = ''
    let words = ''
    child.stdout!.on('data', (piece: Buffer) => (data += piece.toString()))
    child.stderr!.on('data', (piece: Buffer) => (words += piece.toString()))
    const [code] = (await once(child, 'close')) as [number | null]
    timer.cancel()
    sampleOnce()
    if (code !== 0) throw new Error(`It ended with ${code}: ${words}`)
    return { data, words, nodeBytes, ownBytes, seconds: (clock.now() - startedAt) / 1000 }
  }
}

/** Bytes no two chunks of which are alike, nor like those of another seed. */
export async function writeNoise(path: string, size: number, seed: number): Promise<void> {
  const block = Buffer.from(new SeededRandom(seed).bytes(MIB))
  await using file = await open(path, 'w')
  for (let at = 0; at < size; at += MIB) {
    for (let chunk = 0; chunk < MIB; chunk += 16 * 1024) block.writeDoubleBE(at + chunk, chunk)
    await file.write(block)
  }
}

export async function hashOf(path: string): Promise<string> {
  const hash = createBlake3()
  for await (const piece of createReadStream(path, { highWaterMark: MIB })) hash.update(piece as Buffer)
  return `b3:${toHex(hash.digest())}`
}
