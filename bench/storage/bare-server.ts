/**
 * What Node's own HTTP server can do at most: the same bytes and as many header fields as ours, from one buffer, with
 * nothing looked up, checked, counted or logged. Says its URL; ends with whoever started it.
 *
 *     node bare-server.ts BODY_BYTES → http://127.0.0.1:PORT
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const body = Buffer.alloc(Number(process.argv[2]), 'x')
const DIGITS = '0'.repeat(64)
const HEADERS = Object.entries({
  ETag: `"b3:${DIGITS}"`,
  Vary: 'Accept-Encoding',
  'Cache-Control': 'public, max-age=31536000, immutable',
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "sandbox; default-src 'none'",
  'Cross-Origin-Resource-Policy': 'cross-origin',
  'Accept-Ranges': 'bytes',
  'Content-Type': 'application/octet-stream',
  'X-Corr-ID': '0'.repeat(26),
  'Content-Length': String(body.length),
}).flat()

const server = createServer({ noDelay: true, optimizeEmptyRequests: true }, (_, response) => {
  response.writeHead(200, HEADERS)
  response.end(body)
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
process.stdin.resume()
process.stdin.once('end', () => {
  process.exit(0)
})
