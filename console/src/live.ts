/**
 * The one stream of an open console: the node as it is, and events as they happen. Broken, it is opened again; until it
 * is, every page shows how far behind it may be.
 */
import { ask } from './session.ts'

export interface ServiceStatus {
  readonly name: string
  readonly urls: readonly string[]
  readonly ready: boolean
  readonly missing: readonly string[]
  readonly concerns: readonly string[]
  readonly notices?: readonly string[]
  readonly summary: string
}

export interface QueueFacts {
  readonly service: string
  readonly name: string
  readonly waiting: number
  readonly room: number
}

export interface TrafficReport {
  readonly service: string
  readonly rates: readonly number[]
  readonly requests: number
  readonly errors: number
  readonly p50_ms: number | null
  readonly p99_ms: number | null
}

export interface NodeNow {
  readonly status: {
    readonly version: string
    readonly urls: readonly string[]
    readonly data: string
    readonly kept: boolean
    readonly ready: boolean
    readonly services: readonly ServiceStatus[]
    readonly elsewhere: readonly {
      readonly name: string
      readonly url: string
      readonly ready: boolean
      readonly why: string
    }[]
  }
  readonly started_at: number
  readonly queues: readonly QueueFacts[]
  readonly traffic: readonly TrafficReport[]
}

export interface LiveEvent {
  readonly service: string
  readonly topic: string
  readonly body: Readonly<Record<string, unknown>>
  /** Unix milliseconds; null for what happened before this console listened. */
  readonly at: number | null
}

const EVENTS_MAX = 200
const AGAIN_MS = [500, 1000, 2000, 5000] as const
/** Longer than the heartbeat of the stream: after it, the connection is dead. */
const SILENCE_MS = 35_000

class Live extends EventTarget {
  now: NodeNow | undefined
  /** Newest first. */
  events: readonly LiveEvent[] = []
  /** Since when nothing has been heard; undefined while the stream is open. */
  behindSince: number | undefined
  #stop = new AbortController()
  #fails = 0
  #isRunning = false

  start(): void {
    if (this.#isRunning) return
    this.#isRunning = true
    this.#stop = new AbortController()
    // It catches what a try ends with itself, and never ends otherwise than by `stop`.
    this.#follow(this.#stop.signal).catch(() => undefined)
  }

  stop(): void {
    this.#isRunning = false
    this.#stop.abort()
    this.now = undefined
    this.events = []
  }

  async #follow(stop: AbortSignal): Promise<void> {
    for (;;) {
      try {
        await this.#once(stop)
      } catch {
        // The mark says it; the next try is under way.
      }
      if (stop.aborted) return
      this.behindSince ??= Date.now()
      this.#changed()
      await pause(AGAIN_MS[Math.min(this.#fails, AGAIN_MS.length - 1)] ?? 5000)
      this.#fails += 1
    }
  }

  async #once(stop: AbortSignal): Promise<void> {
    const silence = new AbortController()
    let timer = setTimeout(() => silence.abort(), SILENCE_MS)
    const giveUp = (): void => silence.abort()
    stop.addEventListener('abort', giveUp, { once: true })
    try {
      const response = await ask('node', 'admin/live', { signal: silence.signal })
      this.events = []
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
      let rest = ''
      for (let part = await reader?.read(); part !== undefined && !part.done; part = await reader?.read()) {
        clearTimeout(timer)
        timer = setTimeout(() => silence.abort(), SILENCE_MS)
        const frames = `${rest}${part.value}`.split('\n\n')
        rest = frames.pop() ?? ''
        for (const frame of frames) this.#take(frame)
        this.behindSince = undefined
        this.#fails = 0
        this.#changed()
      }
    } finally {
      clearTimeout(timer)
      stop.removeEventListener('abort', giveUp)
    }
  }

  #take(frame: string): void {
    const fields = new Map(
      frame.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
    )
    const [event, data] = [fields.get('event'), fields.get('data')]
    if (data === undefined) return
    if (event === 'now') this.now = JSON.parse(data) as NodeNow
    if (event !== 'event') return
    const heard = JSON.parse(data) as LiveEvent
    this.events = [heard, ...this.events].slice(0, EVENTS_MAX)
    this.dispatchEvent(new CustomEvent<LiveEvent>('heard', { detail: heard }))
  }

  #changed(): void {
    this.dispatchEvent(new Event('changed'))
  }
}

async function pause(ms: number): Promise<void> {
  await new Promise<void>((resolve) => {
    setTimeout(resolve, ms)
  })
}

export const live = new Live()
