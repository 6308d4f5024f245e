/**
 * Clients of a registry, in a process of their own.
 *
 *     node commit-load.ts URL TOKEN KEY_FILE all CLIENTS VERSIONS        everybody proposes, approves, commits → entries a second
 *     node commit-load.ts URL TOKEN KEY_FILE commits STALLED VERSIONS    what is approved is committed, one by one → commits a second
 */
import { connect } from 'node:net'
import type { Item } from '@cairn/names'
import { addressOf } from '@cairn/wire'
import { Connection } from './connection.ts'
import { Signer } from './signer.ts'

const [url = '', token = '', keyFile = '', mode = ''] = process.argv.slice(2)
const [crowd = 0, versions = 0] = process.argv.slice(6).map(Number)
/** A proposal, its approval and its commit. */
const ENTRIES = 3
const PREPARING = 16
const signer = new Signer(keyFile)

function item(name: string): Item {
  const manifest = addressOf(new TextEncoder().encode(name))
  return { kind: 'name', id: `${name}-${process.pid}-${process.hrtime.bigint()}@1`, manifest, prev: null }
}

async function inTurns(clients: number, count: number, work: (connection: Connection, at: number) => Promise<void>) {
  let next = 0
  const client = async (): Promise<void> => {
    const connection = new Connection(url, token)
    while (next < count) {
      next += 1
      await work(connection, next)
    }
    connection.end()
  }
  await Promise.all(Array.from({ length: clients }, client))
}

async function everything(): Promise<number> {
  const startedAt = performance.now()
  await inTurns(crowd, versions, async (connection, at) => {
    const id = await signer.approved(connection, [item(`all-${at}`)])
    await connection.expect(201, 'POST', `/registry/commit/${id}`)
  })
  return (versions * ENTRIES * 1000) / (performance.now() - startedAt)
}

async function commits(): Promise<number> {
  const ids: string[] = []
  await inTurns(PREPARING, versions, async (connection, at) => {
    ids.push(await signer.approved(connection, [item(`one-${at}`)]))
  })
  const stalled = Array.from({ length: crowd }, () => stall())
  const connection = new Connection(url, token)
  await connection.expect(200, 'GET', '/registry/head')
  const startedAt = performance.now()
  for (const id of ids) await connection.expect(201, 'POST', `/registry/commit/${id}`)
  const figure = (ids.length * 1000) / (performance.now() - startedAt)
  for (const socket of stalled) socket.destroy()
  connection.end()
  return figure
}

/** A subscriber that never reads. */
function stall() {
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1' })
  socket.write('GET /registry/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')
  socket.pause()
  return socket
}

process.stdout.write(`${mode === 'all' ? await everything() : await commits()}\n`)
