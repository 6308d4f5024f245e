/**
 * One DHT node in a process of its own, told what to do line by line.
 *
 *     node kad-peer.ts NUMBER [BOOTSTRAP…]     prints {addresses}
 *     provide ADDRESS   find ADDRESS   peers   each prints one line; the end of the input ends it
 */
import { createInterface } from 'node:readline'
import { Deadline } from '@cairn/kernel'
import { type Address, parseAddress } from '@cairn/wire'
import { Peer } from '../../../packages/routing/test/peer.ts'

const [number = '1', ...bootstrap] = process.argv.slice(2)
const peer = new Peer({ number: Number(number) })
const kad = peer.kad({ bootstrap, transport: 'tcp' })
const FOREVER = { signal: new AbortController().signal }
const FIND_MS = 10_000

function say(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`)
}

async function find(cid: Address): Promise<unknown> {
  const found: string[] = []
  const legs = kad.legs(cid, 3).map(async (leg) => {
    const deadline = Deadline.after(peer.runtime.clock, FIND_MS)
    const onProvider = ({ id, record }: { readonly id: string; readonly record?: unknown }): void => {
      if (record !== undefined) found.push(id)
    }
    await leg.find(cid, { ...FOREVER, deadline, onProvider })
  })
  const failed = (await Promise.allSettled(legs)).filter(({ status }) => status === 'rejected').length
  return { found: [...new Set(found)], legs: legs.length, failed }
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
