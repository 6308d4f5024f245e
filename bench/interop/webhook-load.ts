/**
 * Senders of webhooks, in a process of their own: on each connection one new body after another, signed as GitHub does,
 * each acknowledged before the next.
 *
 *     node webhook-load.ts URL SECRET CLIENTS BODY_BYTES WEBHOOKS → webhooks a second
 */
import { createHmac } from 'node:crypto'
import { connect } from 'node:net'
import { StampedBytes } from '../storage/stamped.ts'

const [url = '', secret = ''] = process.argv.slice(2)
const [clients = 0, bodyBytes = 0, webhooks = 0] = process.argv.slice(4).map(Number)
const { port } = new URL(url)

let left = webhooks

async function runClient(): Promise<void> {
  const socket = connect({ port: Number(port), host: '127.0.0.1', noDelay: true })
  const bodies = new StampedBytes(bodyBytes)
  const answers = socket[Symbol.asyncIterator]() as AsyncIterator<Buffer, undefined>
  while (left > 0) {
    left -= 1
    const body = bodies.next()
    socket.write(headOf(createHmac('sha256', secret).update(body).digest('hex')))
    socket.write(body)
    await readAnswer(answers)
  }
  socket.destroy()
}

function headOf(signature: string): string {
  return `POST /webhooks/github HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${bodyBytes}\r\nX-GitHub-Event: push\r\nX-Hub-Signature-256: sha256=${signature}\r\n\r\n`
}

async function readAnswer(answers: AsyncIterator<Buffer, undefined>): Promise<void> {
  let text = ''
  while (!text.endsWith('}')) {
    const step = await answers.next()
    if (step.done === true) throw new Error(`The connection ended: ${text}`)
    text += step.value.toString('latin1')
  }
  if (!text.startsWith('HTTP/1.1 202 ') || text.includes('"duplicate"'))
    throw new Error(`A webhook was answered ${text}`)
}

const startedAt = performance.now()
await Promise.all(Array.from({ length: clients }, async () => await runClient()))
process.stdout.write(`${(webhooks * 1000) / (performance.now() - startedAt)}\n`)
