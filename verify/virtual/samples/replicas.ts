/**
 * Three machines: one writes lines to its own disk and sends them to two others, which do the same and
 * answer; one of these loses power in the middle. Prints the hash of the trace.
 *
 *     node verify/virtual/samples/replicas.ts SEED [PACKET]     PACKET travels 1 ms longer
 */
import { Deadline, isKind } from '@cairn/kernel'
import type { VirtualPlatform } from '../machine.ts'
import { CALM } from '../network/links.ts'
import type { VirtualListener } from '../network/message.ts'
import { simulate } from '../simulate.ts'

const [seed, slowPacket] = process.argv.slice(2).map(Number)

function replica({ disk }: VirtualPlatform): VirtualListener {
  return async ({ body }) => {
    await using file = await disk.open('log', { mode: 'append' })
    for await (const part of body ?? []) await file.append([part])
    await file.sync()
    await disk.syncDirectory('.')
    return { status: 201, headers: [], body: 'kept' }
  }
}

async function send({ clock, transport }: VirtualPlatform, host: string, line: string): Promise<boolean> {
  const deadline = Deadline.after(clock, 100)
  const url = new URL(`http://${host}/lines`)
  try {
    const { status, body } = await transport.request({
      method: 'POST',
      url,
      headers: {},
      body: Buffer.from(line),
      deadline,
    })
    body.cancel()
    return status === 201
  } catch (error) {
    if (isKind(error, 'Timeout') || isKind(error, 'Canceled')) return false
    throw error
  }
}

const { traceHash } = await simulate(seed ?? 1, async (world) => {
  const { links } = world.network
  links.conditions = { ...CALM, loss: 0.05, duplication: 0.05, reorder: 0.1 }
  links.tamper = ({ number }) => (number === slowPacket ? { extraDelayMs: 1 } : undefined)
  const machines = ['writer', 'left', 'right'].map((name) => world.machine(name))
  const [writer, left, right] = machines.map((machine) => machine.start())
  if (writer === undefined || left === undefined || right === undefined) return
  left.listen(80, replica(left))
  right.listen(80, replica(right))
  machines[2]?.crashAfter(20)
  for (let line = 0; line < 10; line += 1) {
    await Promise.all([send(writer, 'left', `line ${line}\n`), send(writer, 'right', `line ${line}\n`)])
  }
  for (const { workers } of [writer, left]) await workers.close()
})
process.stdout.write(`${traceHash}\n`)
