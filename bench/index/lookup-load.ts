/**
 * Clients who ask for addresses nobody has asked for before, in a process of their own.
 *
 *     node lookup-load.ts URL providers CLIENTS COUNT     `GET /providers`: 99th percentile of the time, ms
 *     node lookup-load.ts URL routing CLIENTS COUNT       the same asked of a Delegated Routing endpoint
 *     node lookup-load.ts URL deadline CLIENTS COUNT      addresses nobody answers for: how far the furthest 504 is from 1200 ms
 */
import { SystemRandom } from '@cairn/kernel'
import { cidFromAddress, parseAddress } from '@cairn/wire'
import { Connection } from '../registry/connection.ts'

const [url = '', mode = ''] = process.argv.slice(2)
const [clients = 0, count = 0] = process.argv.slice(4).map(Number)
const BUDGET_MS = 1200
const RANDOM = new SystemRandom()

function pathFor(): string {
  const digits = Buffer.from(RANDOM.bytes(32)).toString('hex')
  const address = parseAddress(`b3:${mode === 'deadline' ? `dead${digits.slice(4)}` : `0${digits.slice(1)}`}`)
  if (mode !== 'routing') return `/providers/${address}`
  return `${new URL(url).pathname}/routing/v1/providers/${cidFromAddress(address)}`
}

const times: number[] = []
let begun = 0

async function client(): Promise<void> {
  const connection = new Connection(url, 'none')
  while (begun < count) {
    begun += 1
    const startedAt = performance.now()
    await connection.expect(mode === 'deadline' ? 504 : 200, 'GET', pathFor())
    times.push(performance.now() - startedAt)
  }
  connection.end()
}

await Promise.all(Array.from({ length: clients }, client))
const sorted = times.toSorted((a, b) => a - b)
const p99 = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * 0.99))] ?? Number.NaN
const furthest = Math.max(...times.map((ms) => Math.abs(ms - BUDGET_MS)))
process.stdout.write(`${mode === 'deadline' ? furthest : p99}\n`)
