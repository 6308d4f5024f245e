/**
 * Five indexes in one process, as Delegated Routing endpoints, each under its own path and with its own signed records.
 *
 *     /dead    takes the question and never answers         everything: addresses that begin with `dead` nobody answers
 *     /slow    answers after a second
 *     /fast-1 … /fast-3 answer after 20 ms
 *
 *     node peers.ts → its URL
 */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { systemCrypto } from '@cairn/platform'
import { delegatedJson, providerOf } from '@cairn/routing'
import { RECORD_TTL_MS, signRecord } from '@cairn/routing/testing'
import { type Address, addressFromCid } from '@cairn/wire'

const FAST_MS = 20
const SLOW_MS = 1000
const NAMES = ['dead', 'slow', 'fast-1', 'fast-2', 'fast-3']

function delayOf(name: string, cid: Address): number | undefined {
  if (name === 'dead' || cid.startsWith('b3:dead')) return undefined
  return name === 'slow' ? SLOW_MS : FAST_MS
}

function answerOf(who: number, cid: Address): string {
  const wallMs = Date.now()
  const claim = { cid, http: ['http://127.0.0.1:1'], seq: wallMs, exp: Math.floor((wallMs + RECORD_TTL_MS) / 1000) }
  const record = signRecord(systemCrypto, new Uint8Array(32).fill(who + 1), claim)
  return JSON.stringify(delegatedJson([providerOf(record, wallMs)]))
}

function answer(response: ServerResponse, body: string): void {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }).end(body)
}

const server = createServer((request, response) => {
  const [, name = '', , , , cid = ''] = (request.url ?? '').split('/')
  const address = addressFromCid(cid)
  const delayMs = delayOf(name, address)
  if (delayMs === undefined) return
  // Signed beforehand: the delay is all the time it takes.
  const body = answerOf(NAMES.indexOf(name), address)
  setTimeout(() => answer(response, body), delayMs)
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
process.stdin.resume().on('end', () => process.exit(0))
