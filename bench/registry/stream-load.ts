/**
 * Subscribers of a stream of versions: how long after it was asked for does a commit reach them?
 *
 *     node stream-load.ts URL TOKEN KEY_FILE|- SUBSCRIBERS COMMITS → milliseconds, 95th percentile
 *
 * Without a key the server is the bare one: then a version is a POST to /publish.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { addressOf } from '@cairn/wire'
import { Connection } from './connection.ts'
import { Signer } from './signer.ts'

const [url = '', token = '', keyFile = ''] = process.argv.slice(2)
const [subscribers = 0, commits = 0] = process.argv.slice(5).map(Number)
const PERCENTILE = 0.95
const EVENT = 'event: registry.update'
const CONNECTING = 100

let heard: (() => void) | undefined

async function subscribe(): Promise<Socket> {
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', noDelay: true })
  const headers = once(socket, 'data')
  socket.write('GET /registry/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')
  await headers
  socket.setEncoding('latin1')
  socket.on('data', (piece: string) => {
    if (piece.includes(EVENT)) heard?.()
  })
  return socket
}

const sockets: Socket[] = []
for (let at = 0; at < subscribers; at += CONNECTING)
  sockets.push(...(await Promise.all(Array.from({ length: Math.min(CONNECTING, subscribers - at) }, subscribe))))

const connection = new Connection(url, token)
const signer = keyFile === '-' ? undefined : new Signer(keyFile)
const tookMs: number[] = []
for (let at = 0; at < commits; at += 1) {
  const name = `stream-${process.pid}-${at}@1`
  const manifest = addressOf(new TextEncoder().encode(name))
  const id = await signer?.approved(connection, [{ kind: 'name', id: name, manifest, prev: null }])
  const all = Promise.withResolvers<void>()
  const startedAt = performance.now()
  let left = subscribers
  heard = () => {
    tookMs.push(performance.now() - startedAt)
    left -= 1
    if (left === 0) all.resolve()
  }
  const path = id === undefined ? '/publish' : `/registry/commit/${id}`
  await connection.expect(201, 'POST', path)
  await all.promise
}
for (const socket of sockets) socket.destroy()
connection.end()
tookMs.sort((a, b) => a - b)
process.stdout.write(`${tookMs[Math.floor(tookMs.length * PERCENTILE)] ?? 0}\n`)
process.exit(0)
