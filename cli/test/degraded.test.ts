/** A node that serves and is not well: status, doctor and peers say what its `/readyz` says, and end in another code than 0. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { main } from '../src/main.ts'
import { Capture } from './capture.ts'
import { InnerNode } from './inner-node.ts'
import { type Ran, Workplace } from './processes.ts'

let place: Workplace
let running: InnerNode
const path = (name: string): string => `${place.directory}/${name}`

before(async () => {
  place = await Workplace.make()
  await writeFile(path('peer.token'), 'a-token\n')
  const peer = `{ id = "away", url = "http://127.0.0.1:9/", token_file = "${path('peer.token')}" }`
  await writeFile(
    path('cairn.toml'),
    `[storage]\npeers = [${peer}]\nplacement.id = "here"\ndurability.allow_degraded_writes = true\n`,
  )
  running = await InnerNode.start({ data: path('data'), config: path('cairn.toml') })
  // A peer counts as up until it was asked for the first time.
  for (let said = ''; !said.includes('copies_problem'); ) said = await (await fetch(`${storageUrl()}/readyz`)).text()
})
after(async () => {
  await running[Symbol.asyncDispose]()
  await place[Symbol.asyncDispose]()
})

function storageUrl(): string {
  return running.urls['storage']?.find((each) => each.startsWith('http')) ?? ''
}

async function cairn(...args: readonly string[]): Promise<Ran> {
  const terminal = new Capture()
  const code = await main([...args, '--data', path('data')], terminal)
  return { code, data: terminal.data, words: terminal.words }
}

test('a storage peer that is down is told by /readyz, status, doctor and peers, none of which is content', async () => {
  const answer = await fetch(`${storageUrl()}/readyz`)
  const ready = (await answer.json()) as { ready: boolean; degraded?: boolean; copies_problem?: string }
  assert.deepEqual([answer.status, ready.ready, ready.degraded], [200, true, true])
  assert.match(ready.copies_problem ?? '', /^away is not up \(/)
  const status = await cairn('status')
  assert.equal(status.code, 6)
  assert.match(status.data, /… storage .*\n +away is not up /)
  assert.match(status.words, /Ready, but degraded: storage\./)
  const peers = await cairn('peers')
  assert.equal(peers.code, 6, peers.words)
  assert.match(peers.data, /^away {2}storage {2}/)
  assert.match(peers.words, /1 of 1 storage peer is not up: away\./)
  const doctor = await cairn('doctor', '--config', path('cairn.toml'))
  assert.equal(doctor.code, 6, doctor.data)
  assert.match(doctor.data, /✖ node +storage: away is not up/)
  assert.match(doctor.data, /✖ peers +1 of 1 do not answer/)
  assert.match(doctor.data, /(?:✔|…) files +\d+ may be open; connections and files may come to \d+/)
})

test('what one node says is in the JSON of each', async () => {
  const { result } = JSON.parse((await cairn('status', '--json')).data) as {
    result: { ready: boolean; services: { name: string; concerns: string[] }[] }
  }
  assert.ok(result.ready)
  assert.equal(result.services.find(({ name }) => name === 'storage')?.concerns.length, 1)
})
