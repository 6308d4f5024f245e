/**
 * Clients that put objects, in a process of their own: on each connection one object after another, each acknowledged
 * before the next.
 *
 *     node put-load.ts URL TOKEN CLIENTS OBJECT_BYTES OBJECTS → bytes a second
 */
import { connect } from 'node:net'
import { StampedBytes } from './stamped.ts'

const [url = '', token = ''] = process.argv.slice(2)
const [clients = 0, objectBytes = 0, objects = 0] = process.argv.slice(4).map(Number)
const { port } = new URL(url)
const HEAD = `POST /o HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\nContent-Length: ${objectBytes}\r\n\r\n`

let left = objects

async function runClient(): Promise<void> {
  const socket = connect({ port: Number(port), host: '127.0.0.1', noDelay: true })
  const body = new StampedBytes(objectBytes)
  const answers = socket[Symbol.asyncIterator]() as AsyncIterator<Buffer, undefined>
  while (left > 0) {
    left -= 1
    socket.write(HEAD)
    socket.write(body.next())
    await readAnswer(answers)
  }
  socket.destroy()
}

async function readAnswer(answers: AsyncIterator<Buffer, undefined>): Promise<void> {
  let text = ''
  while (!text.endsWith('}')) {
    const step = await answers.next()
    if (step.done === true) throw new Error(`The connection ended: ${text}`)
    text += step.value.toString('latin1')
  }
  if (!text.startsWith('HTTP/1.1 201 ')) throw new Error(`A put was answered ${text}`)
}

const startedAt = performance.now()
await Promise.all(Array.from({ length: clients }, async () => await runClient()))
process.stdout.write(`${(objects * objectBytes * 1000) / (performance.now() - startedAt)}\n`)
