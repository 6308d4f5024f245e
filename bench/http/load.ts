/**
 * The client side, in a process of its own: so many connections, on each one request after another, never two at once.
 * It knows how long an answer is and counts bytes, so that it costs next to nothing beside the server it measures.
 *
 *     node load.ts PORT CONNECTIONS WARM_UP_MS MEASURED_MS      → requests a second on standard output
 */
import { connect } from 'node:net'

const [port = 0, connections = 0, warmUpMs = 0, measuredMs = 0] = process.argv.slice(2).map(Number)
const REQUEST = 'GET /hello HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n'

let answered = 0

/** The length of an answer, from the first one; they are all alike. */
async function answerLength(): Promise<number> {
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

const length = await answerLength()
for (let count = 0; count < connections; count += 1) {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  socket.write(REQUEST)
  let received = 0
  socket.on('data', (bytes) => {
    received += bytes.length
    if (received < length) return
    received = 0
    answered += 1
    socket.write(REQUEST)
  })
}
/**
 * It never sleeps: waking a sleeping client is work of the server's system call, and a slower server would pay it
 * more often, for a reason that is not its own.
 */
function stayAwake(): void {
  setImmediate(stayAwake)
}

stayAwake()
setTimeout(() => {
  const before = answered
  const startedAt = performance.now()
  setTimeout(() => {
    process.stdout.write(`${((answered - before) * 1000) / (performance.now() - startedAt)}\n`)
    process.exit(0)
  }, measuredMs)
}, warmUpMs)
