/** Queues of every service of every node: never over their capacity, and empty when there is nothing to do. */
import type { Cluster } from './cluster.ts'

/** Long enough for what waits to have its turn. */
const QUIET_MS_MAX = 5000

interface SeenQueue {
  readonly name: string
  /** How many wait now. */
  readonly depth: () => number
  /** How many have left it, taken or let go of. */
  readonly left: () => number
  readonly highWater: number
  readonly capacity: number
}

function* queuesOf({ nodes }: Cluster): Generator<SeenQueue> {
  for (const node of nodes) {
    for (const { topology } of node.platforms) {
      for (const entry of topology) {
        if (entry.kind !== 'queue') continue
        const { highWater, capacity } = entry.facts()
        const name = `${entry.name} of ${node.name}`
        const depth = (): number => Number(entry.facts()['depth'])
        const left = (): number => Number(entry.facts()['received']) + Number(entry.facts()['lost'])
        yield { name, depth, left, highWater: Number(highWater), capacity: Number(capacity) }
      }
    }
  }
}

export function checkQueues(cluster: Cluster): void {
  for (const { name, highWater, capacity } of queuesOf(cluster))
    if (!(highWater <= capacity)) throw new Error(`The queue ${name} held ${highWater}, and may hold ${capacity}.`)
}

/** Nobody asks anything any more: whatever waits has its turn, though nodes go on looking at each other. */
export async function checkQueuesEmpty(cluster: Cluster): Promise<void> {
  const until = cluster.clock.now() + QUIET_MS_MAX
  let waiting = [...queuesOf(cluster)].map((queue) => ({ ...queue, empty: queue.left() + queue.depth() }))
  while (waiting.length > 0) {
    const names = waiting.map(({ name, depth }) => `${name} (${depth()})`).join(', ')
    if (cluster.clock.now() > until) throw new Error(`Nothing is asked any more, and these do not run empty: ${names}.`)
    await cluster.world.sleep(50)
    waiting = waiting.filter(({ left, empty }) => left() < empty)
  }
}
