/** What the kernel's channels and limits cost over the bare thing that promises nothing. */
import { Broadcast, Queue, SystemClock, TokenBucket, Watch } from '@cairn/kernel'
import { virtualRuntime } from '@cairn/kernel/testing'
import { type BenchCase, perSecond } from './harness.ts'

const ITEMS = 262_144
/** Items are sent and received a batch at a time: the channel is neither always empty nor ever full. */
const BATCH = 1024
const SUBSCRIBERS = 4
/** The sum of all items, which every run must arrive at. */
const SUM = (ITEMS * (ITEMS - 1)) / 2
/** Setting a variable is so quick that a run needs many more to be measurable. */
const WRITES = 64 * ITEMS

type Side = () => number | Promise<number>

interface Sides {
  readonly ours: Side
  readonly peer: Side
  /** What both must arrive at; the sum of all items where not said. */
  readonly expected?: number
  /** How many items go through in one run. */
  readonly items?: number
}

function throughput(name: string, peerName: string, limits: string, sides: Sides): BenchCase {
  const { ours, peer, expected = SUM, items = ITEMS } = sides
  return {
    name,
    peerName,
    limits: `${limits}, ${items} in all`,
    unit: 'items/s',
    higherIsBetter: true,
    ours: async () => await perSecond(items, expected, ours),
    peer: async () => await perSecond(items, expected, peer),
  }
}

function queueTry(): number {
  const queue = new Queue<number>(virtualRuntime(), { name: 'bench', capacity: BATCH, overflow: 'reject' })
  let sum = 0
  for (let start = 0; start < ITEMS; start += BATCH) {
    for (let item = start; item < start + BATCH; item += 1) queue.trySend(item)
    for (let next = queue.tryReceive(); next?.tag === 'item'; next = queue.tryReceive()) sum += next.item
  }
  queue.close()
  return sum
}

function arrayPushShift(): number {
  const array: number[] = []
  let sum = 0
  for (let start = 0; start < ITEMS; start += BATCH) {
    for (let item = start; item < start + BATCH; item += 1) array.push(item)
    for (let next = array.shift(); next !== undefined; next = array.shift()) sum += next
  }
  return sum
}

async function queueReceive(): Promise<number> {
  const queue = new Queue<number>(virtualRuntime(), { name: 'bench', capacity: BATCH, overflow: 'reject' })
  let sum = 0
  for (let start = 0; start < ITEMS; start += BATCH) {
    for (let item = start; item < start + BATCH; item += 1) queue.trySend(item)
    for (let left = BATCH; left > 0; left -= 1) {
      const next = await queue.recv()
      if (next.tag === 'item') sum += next.item
    }
  }
  queue.close()
  return sum
}

async function arrayShiftAwaited(): Promise<number> {
  const array: number[] = []
  let sum = 0
  for (let start = 0; start < ITEMS; start += BATCH) {
    for (let item = start; item < start + BATCH; item += 1) array.push(item)
    for (let left = BATCH; left > 0; left -= 1) {
      const next = await Promise.resolve(array.shift())
      sum += next ?? 0
    }
  }
  return sum
}

/** The consumer is always there first, so every item goes from hand to hand. */
async function queueHandOver(): Promise<number> {
  const queue = new Queue<number>(virtualRuntime(), { name: 'bench', capacity: 1, overflow: 'reject' })
  let sum = 0
  for (let item = 0; item < ITEMS; item += 1) {
    const waiting = queue.recv()
    queue.trySend(item)
    const next = await waiting
    if (next.tag === 'item') sum += next.item
  }
  queue.close()
  return sum
}

async function promiseHandOver(): Promise<number> {
  let sum = 0
  for (let item = 0; item < ITEMS; item += 1) {
    const { promise, resolve } = Promise.withResolvers<number>()
    resolve(item)
    sum += await promise
  }
  return sum
}

async function watchWoken(): Promise<number> {
  const watch = new Watch(0)
  let sum = 0
  for (let item = 0; item < ITEMS; item += 1) {
    const waiting = watch.changed(watch.version)
    watch.set(item)
    const seen = await waiting
    sum += seen.value
  }
  return sum
}

async function callbackWoken(): Promise<number> {
  const callbacks: ((value: number) => void)[] = []
  let sum = 0
  for (let item = 0; item < ITEMS; item += 1) {
    const waiting = new Promise<number>((resolve) => {
      callbacks.push(resolve)
    })
    for (const callback of callbacks.splice(0)) callback(item)
    sum += await waiting
  }
  return sum
}

function watchRead(): number {
  const watch = new Watch(0)
  let sum = 0
  for (let item = 0; item < WRITES; item += 1) {
    watch.set(item)
    sum += watch.value & 1
  }
  return sum
}

function variableRead(): number {
  const holder: { value: number; readonly callbacks: (() => void)[] } = { value: 0, callbacks: [] }
  let sum = 0
  for (let item = 0; item < WRITES; item += 1) {
    holder.value = item
    for (const callback of holder.callbacks) callback()
    sum += holder.value & 1
  }
  return sum
}

function broadcastFanOut(): number {
  const broadcast = new Broadcast<number>(virtualRuntime(), { name: 'bench', capacity: BATCH })
  const subscriptions = Array.from({ length: SUBSCRIBERS }, () => broadcast.subscribe())
  let sum = 0
  for (let start = 0; start < ITEMS; start += BATCH) {
    for (let item = start; item < start + BATCH; item += 1) broadcast.publish(item)
    for (const subscription of subscriptions) {
      for (let next = subscription.tryReceive(); next?.tag === 'value'; next = subscription.tryReceive())
        sum += next.value
    }
  }
  broadcast.close()
  return sum
}

function arrayFanOut(): number {
  const arrays = Array.from({ length: SUBSCRIBERS }, (): number[] => [])
  let sum = 0
  for (let start = 0; start < ITEMS; start += BATCH) {
    for (let item = start; item < start + BATCH; item += 1) for (const array of arrays) array.push(item)
    for (const array of arrays) for (let next = array.shift(); next !== undefined; next = array.shift()) sum += next
  }
  return sum
}

const RATE = 1e9
const BURST = 1e6

function bucketTake(): number {
  const bucket = new TokenBucket(new SystemClock(), { rate: RATE, burst: BURST })
  let taken = 0
  for (let item = 0; item < ITEMS; item += 1) if (bucket.tryTake()) taken += 1
  return taken
}

function counterTake(): number {
  const clock = new SystemClock()
  let [level, filledAt, taken] = [BURST, clock.now(), 0]
  for (let item = 0; item < ITEMS; item += 1) {
    const now = clock.now()
    level = Math.min(BURST, level + ((now - filledAt) * RATE) / 1000)
    filledAt = now
    if (level < 1) continue
    level -= 1
    taken += 1
  }
  return taken
}

const QUEUE_LIMITS = `capacity ${BATCH}, reject when full, batches of ${BATCH}`
const FAN_OUT_LIMITS = `ring of ${BATCH}, ${SUBSCRIBERS} subscribers, batches of ${BATCH}`
const BUCKET_LIMITS = `rate ${RATE}/s, burst ${BURST}`

export const CASES: readonly BenchCase[] = [
  throughput('queue', 'array push and shift', QUEUE_LIMITS, { ours: queueTry, peer: arrayPushShift }),
  throughput('queue-recv', 'array push and awaited shift', QUEUE_LIMITS, {
    ours: queueReceive,
    peer: arrayShiftAwaited,
  }),
  throughput('queue-handover', 'one promise an item', 'capacity 1, receiver first', {
    ours: queueHandOver,
    peer: promiseHandOver,
  }),
  throughput('watch', 'variable and callback list', 'no waiter', {
    ours: watchRead,
    peer: variableRead,
    expected: WRITES / 2,
    items: WRITES,
  }),
  throughput('watch-changed', 'callback list and a promise', 'one waits', { ours: watchWoken, peer: callbackWoken }),
  throughput('broadcast', 'an array each', FAN_OUT_LIMITS, {
    ours: broadcastFanOut,
    peer: arrayFanOut,
    expected: SUM * SUBSCRIBERS,
  }),
  throughput('token-bucket', 'counter arithmetic on the same clock', BUCKET_LIMITS, {
    ours: bucketTake,
    peer: counterTake,
    expected: ITEMS,
  }),
]
