/**
 * `node:http` and nothing else: answers every GET with the body given here, keeps those of /registry/stream open, and
 * writes them all one event for each POST to /publish.
 *
 *     node bare-server.ts BODY → its URL
 */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

const [body = ''] = process.argv.slice(2)
const bytes = Buffer.from(body)
const streams = new Set<ServerResponse>()
let version = 0

const server = createServer((request, response) => {
  if (request.url === '/registry/stream') {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.flushHeaders()
    streams.add(response)
    response.on('close', () => void streams.delete(response))
  } else if (request.method === 'POST') {
    version += 1
    const frame = `id: ${version}\nevent: registry.update\ndata: ${body}\n\n`
    for (const stream of streams) stream.write(frame)
    response.writeHead(201, { 'content-length': 0 }).end()
  } else {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': bytes.length }).end(bytes)
  }
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
process.stdin.resume().on('end', () => process.exit(0))
