/**
 * One DHT node in a process of its own, told what to do line by line.
 *
 *     node kad-peer.ts NUMBER [BOOTSTRAP…]     prints {addresses}
 *     provide ADDRESS   find ADDRESS   peers   each prints one line; the end of the input ends it
 */
import { createInterface } from 'node:readline'
import { Deadline, sleep } from '@cairn/kernel'
import { type Address, parseAddress } from '@cairn/wire'
import { Peer } from '../../../packages/routing/test/peer.ts'

const [number = '1', ...bootstrap] = process.argv.slice(2)
const peer = new Peer({ number: Number(number) })
const kad = peer.kad({ bootstrap, transport: 'tcp' })
const FOREVER = { signal: new AbortController().signal }
const FIND_MS = 10_000
const PAUSE_MS = 50

function say(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`)
}

/** One budget for all: a lookup that a slow peer or a dead one made empty is repeated while there is time. */
async function find(cid: Address): Promise<unknown> {
  const deadline = Deadline.after(peer.runtime.clock, FIND_MS)
  const found = new Set<string>()
  const onProvider = ({ id, record }: { readonly id: string; readonly record?: unknown }): void => {
    if (record !== undefined) found.add(id)
  }
  for (let looks = 1; ; looks += 1) {
    await Promise.allSettled(
      kad.legs(cid, 3).map(async (leg) => await leg.find(cid, { ...FOREVER, deadline, onProvider })),
    )
    if (found.size > 0 || deadline.expired) return { found: [...found], looks }
    await sleep(peer.runtime.clock, PAUSE_MS)
  }
}

async function obey([command, argument = '']: readonly string[]): Promise<unknown> {
  if (command === 'provide') {
    await kad.provide([peer.hold(parseAddress(argument))], FOREVER)
    return { provided: peer.signer.publisher }
  }
  if (command === 'find') return await find(parseAddress(argument))
  return { peers: kad.peers().map(({ id }) => id) }
}

say({ addresses: await kad.start(FOREVER) })
for await (const line of createInterface({ input: process.stdin })) say(await obey(line.split(' ')))
await kad.close()
