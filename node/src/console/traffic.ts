/** Requests, errors and latencies of each service over the last 15 minutes, from looks every ten seconds. */
import { latencyLimitMs, type Traffic } from '@cairn/http'

/** 15 minutes of looks every ten seconds, and the look they begin with. */
const LOOKS_MAX = 91

interface Look {
  readonly requests: number
  readonly errors: number
  readonly latencies: Uint32Array
}

export interface TrafficReport {
  readonly service: string
  /** Requests between two looks, oldest first. */
  readonly rates: readonly number[]
  /** Over all of it. */
  readonly requests: number
  readonly errors: number
  /** Within a factor of 1.4; null where there were no requests. */
  readonly p50_ms: number | null
  readonly p99_ms: number | null
}

export class TrafficHistory {
  readonly #looks = new Map<string, Look[]>()

  look(service: string, { requests, errors, latencies }: Readonly<Traffic>): void {
    const looks = this.#looks.get(service) ?? []
    looks.push({ requests, errors, latencies: latencies.slice() })
    if (looks.length > LOOKS_MAX) looks.shift()
    this.#looks.set(service, looks)
  }

  report(): readonly TrafficReport[] {
    return [...this.#looks].map(([service, looks]) => reportOf(service, looks))
  }
}

function reportOf(service: string, looks: readonly Look[]): TrafficReport {
  const [first, last] = [looks[0], looks.at(-1)]
  if (first === undefined || last === undefined)
    return { service, rates: [], requests: 0, errors: 0, p50_ms: null, p99_ms: null }
  const spent = last.latencies.map((count, bucket) => count - (first.latencies[bucket] ?? 0))
  return {
    service,
    rates: looks.slice(1).map(({ requests }, at) => requests - (looks[at]?.requests ?? 0)),
    requests: last.requests - first.requests,
    errors: last.errors - first.errors,
    p50_ms: quantile(spent, 0.5),
    p99_ms: quantile(spent, 0.99),
  }
}

function quantile(counts: Uint32Array, share: number): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0)
  if (total === 0) return null
  let passed = 0
  const bucket = counts.findIndex((count) => {
    passed += count
    return passed >= share * total
  })
  return Math.round(latencyLimitMs(bucket) * 100) / 100
}
