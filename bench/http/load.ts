/**
 * The client side, in a process of its own, for two servers at once: a slice of time for one, a slice for the other.
 *
 *     first  ▇▇▇▇    ▇▇▇▇    ▇▇▇▇        so many connections to each, on each one request after another,
 *     second     ▇▇▇▇    ▇▇▇▇    ▇▇▇▇    never two at once
 *
 * A shared machine changes its speed faster than a run lasts; within a few slices it does not. The client knows how
 * long an answer is and counts bytes, so that it costs next to nothing beside the servers it measures.
 *
 *     node load.ts FIRST_PORT SECOND_PORT CONNECTIONS WARM_UP_MS MEASURED_MS → requests a second of each, medians
 */
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

const [first = 0, second = 0, connections = 0, warmUpMs = 0, measuredMs = 0] = process.argv.slice(2).map(Number)
const REQUEST = 'GET /hello HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n'
const SLICE_MS = 60
/** Until all connections are busy again, and until the last answers are in. */
const RAMP_MS = 15
const DRAIN_MS = 5

class Side {
  readonly port: number
  readonly figures: number[] = []
  readonly #idle: Socket[] = []
  #isActive = false
  #answered = 0

  constructor(port: number) {
    this.port = port
  }

  async open(): Promise<void> {
    const length = await answerLength(this.port)
    for (let count = 0; count < connections; count += 1) {
      const socket = connect({ port: this.port, host: '127.0.0.1', noDelay: true })
      let received = 0
      socket.on('data', (bytes) => {
        received += bytes.length
        if (received < length) return
        received = 0
        this.#answered += 1
        if (this.#isActive) socket.write(REQUEST)
        else this.#idle.push(socket)
      })
      this.#idle.push(socket)
    }
  }

  async slice(): Promise<number> {
    this.#isActive = true
    for (const socket of this.#idle.splice(0)) socket.write(REQUEST)
    await sleep(RAMP_MS)
    const [before, startedAt] = [this.#answered, performance.now()]
    await sleep(SLICE_MS)
    const figure = ((this.#answered - before) * 1000) / (performance.now() - startedAt)
    this.#isActive = false
    await sleep(DRAIN_MS)
    return figure
  }
}

/** The length of an answer, from the first one; they are all alike. */
async function answerLength(port: number): Promise<number> {
  return await new Promise((resolve, reject) => {
    const probe = connect(port, '127.0.0.1')
    probe.write(REQUEST)
    let received = ''
    probe.on('error', reject)
    probe.on('data', (bytes) => {
      received += bytes.toString('latin1')
      const head = received.indexOf('\r\n\r\n')
      const length = Number(/content-length: (\d+)/i.exec(received)?.[1] ?? Number.NaN)
      if (!received.startsWith('HTTP/1.1 200 ')) reject(new Error(`The server answered ${received}.`))
      else if (head !== -1 && received.length >= head + 4 + length) {
        probe.destroy()
        resolve(head + 4 + length)
      }
    })
  })
}

function median(figures: readonly number[]): number {
  return figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)] ?? 0
}

const sides = [new Side(first), new Side(second)]
for (const side of sides) await side.open()
const measuredFrom = performance.now() + warmUpMs
while (performance.now() < measuredFrom + measuredMs) {
  for (const side of sides) {
    const figure = await side.slice()
    if (performance.now() >= measuredFrom) side.figures.push(figure)
  }
}
process.stdout.write(`${sides.map(({ figures }) => median(figures)).join(' ')}\n`)
process.exit(0)
