/** `cairn bench`: how fast this node stores objects and gives them back, from here. What it stored it drops again. */
import { CairnError, Deadline, SystemClock, SystemRandom } from '@cairn/kernel'
import type { Cairn } from '@cairn/sdk'
import { parseByteSize, parseDuration, spellBytes, spellCount } from '@cairn/wire'
import type { CommandHandler } from './command.ts'
import { formatRows } from './registry-format.ts'
import { withStorage } from './storage.ts'

const SIZE_DEFAULT = '64KiB'
const TIME_DEFAULT = '3s'
/** Objects are made in memory. */
const SIZE_MAX = 64 * 1024 * 1024
/** Under way at once, as many as one client has lanes. */
const AT_ONCE = 8
/** What is stored is dropped one by one afterwards; more would take longer than the measurement. */
const OBJECTS_MAX = 20_000

interface Measured {
  readonly objects: number
  readonly per_second: number
  readonly bytes_per_second: number
  readonly p50_ms: number
  readonly p99_ms: number
}

export const bench: CommandHandler = async (context) => {
  const size = sizeOf(context.given.text('size') ?? SIZE_DEFAULT)
  const forMs = parseDuration(context.given.text('time') ?? TIME_DEFAULT)
  const random = new SystemRandom()
  const content = random.bytes(size)
  return await withStorage(context, async (cairn, signal) => {
    /** Small objects may be the same by chance. */
    const stored = new Set<string>()
    try {
      const put = await measured(size, { forMs, count: OBJECTS_MAX, signal }, async () => {
        const bytes = new Uint8Array(content)
        bytes.set(random.bytes(Math.min(8, size)))
        stored.add((await cairn.put(bytes, { signal })).address)
      })
      const addresses = [...stored]
      const get = await measured(size, { forMs, count: addresses.length, signal }, async (index) => {
        await drained(cairn, addresses[index] ?? '', signal)
      })
      return {
        result: { size, put, get },
        data: formatRows([
          ['size', spellBytes(size)],
          ['put', spelled(put)],
          ['get', spelled(get)],
        ]),
        message: 'every byte that came back was proved; what was stored is dropped again',
      }
    } finally {
      await dropped(cairn, stored)
    }
  })
}

function sizeOf(text: string): number {
  const size = parseByteSize(text)
  if (size >= 1 && size <= SIZE_MAX) return size
  throw new CairnError('Malformed', `--size is from 1 to ${spellBytes(SIZE_MAX)}; not ${text}.`, { code: 'usage' })
}

interface Extent {
  readonly forMs: number
  /** At most this many times. */
  readonly count: number
  readonly signal: AbortSignal
}

/** Does it again and again, a few at once, and says how long each took. */
async function measured(
  size: number,
  { forMs, count, signal }: Extent,
  work: (index: number) => Promise<void>,
): Promise<Measured> {
  const clock = new SystemClock()
  const deadline = Deadline.after(clock, forMs)
  const startedAt = clock.now()
  const times: number[] = []
  let next = 0
  const lane = async (): Promise<void> => {
    while (next < count && !deadline.expired) {
      signal.throwIfAborted()
      const begunAt = clock.now()
      next += 1
      await work(next - 1)
      times.push(clock.now() - begunAt)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, lane))
  const seconds = (clock.now() - startedAt) / 1000
  times.sort((a, b) => a - b)
  const at = (share: number): number => Math.round((times[Math.floor(share * (times.length - 1))] ?? 0) * 100) / 100
  const perSecond = times.length / seconds
  return {
    objects: times.length,
    per_second: Math.round(perSecond),
    bytes_per_second: Math.round(perSecond * size),
    p50_ms: at(0.5),
    p99_ms: at(0.99),
  }
}

async function drained(cairn: Cairn, address: string, signal: AbortSignal): Promise<void> {
  const reader = cairn.get(address, { signal }).getReader()
  for (let next = await reader.read(); !next.done; ) next = await reader.read()
}

/** Also after an interrupt, which must not leave thousands of objects behind. */
async function dropped(cairn: Cairn, addresses: Iterable<string>): Promise<void> {
  const rest = [...addresses]
  const lane = async (): Promise<void> => {
    for (let address = rest.pop(); address !== undefined; address = rest.pop()) await cairn.remove(address)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, lane))
}

function spelled({ objects, per_second, bytes_per_second, p50_ms, p99_ms }: Measured): string {
  const rate = `${spellCount(per_second, 'object')}/s  ${spellBytes(bytes_per_second)}/s`
  return `${rate}  p50 ${p50_ms} ms  p99 ${p99_ms} ms  (${spellCount(objects, 'object')})`
}
