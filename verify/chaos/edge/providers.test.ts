/** Objects that are elsewhere: found through the index, proved chunk by chunk, from whoever tells the truth. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { addressOf } from '@cairn/wire'
import { type Answer, ask, EdgeNode, eventually } from './edge-node.ts'
import { LyingStorage } from './lying-storage.ts'

const HOLDER = ['storage', 'index']
const READER = ['storage', 'index', 'edge']
/** What it holds is announced at once, and nothing is remembered for long. */
const INDEX = '[index.cache]\nttl = "1ms"\nneg_ttl = "1ms"\n[index.dht]\nallow_loopback = true\n'
const BYTES = Buffer.alloc(400_000, 'one two three ')
const OTHERS = Buffer.alloc(400_000, 'four five six ')

let liar: LyingStorage
let dishonest: EdgeNode
let honest: EdgeNode
let reader: EdgeNode

before(async () => {
  liar = await LyingStorage.start()
  const announced = `[index.announce]\nhttp = ["${liar.url}"]\n`
  ;[dishonest, honest] = await Promise.all([EdgeNode.start(INDEX + announced, HOLDER), EdgeNode.start(INDEX, HOLDER)])
  liar.behind = dishonest.url('storage')
  const endpoints = [dishonest, honest].map((node) => JSON.stringify(node.url('index').href))
  const edge = '[edge]\ndev_allow_loopback_http = true\n'
  reader = await EdgeNode.start(`${INDEX}endpoints = [${endpoints.join(', ')}]\n${edge}`, READER)
})
after(async () => {
  for (const each of [reader, honest, dishonest, liar]) await each[Symbol.asyncDispose]()
})

async function put(node: EdgeNode, bytes: Buffer): Promise<string> {
  await writeFile(node.path('object'), bytes)
  return await node.told('put', '-q', node.path('object'))
}

/** Through the reader's edge; a body that was broken off counts as none. */
async function fetched(bytes: Buffer): Promise<Answer> {
  try {
    return await reader.get(`/edge/assets/b3/${addressOf(bytes).slice(3)}`)
  } catch {
    return { status: 0, headers: {}, body: Buffer.alloc(0) }
  }
}

async function providersOf(bytes: Buffer): Promise<number> {
  const { status, body } = await ask(reader.url('index', `/providers/${addressOf(bytes)}`))
  return status === 404 ? 0 : (JSON.parse(body.toString()) as { providers: unknown[] }).providers.length
}

test('an object only another node has comes through this one, and stays', async () => {
  await put(honest, BYTES)
  const { body, headers } = await eventually(
    async () => await fetched(BYTES),
    ({ status }) => status === 200,
  )
  assert.ok(body.equals(BYTES))
  assert.equal(headers.etag, `"${addressOf(BYTES)}"`)
  await honest.told('rm', addressOf(BYTES))
  const again = await reader.get(`/edge/assets/b3/${addressOf(BYTES).slice(3)}`, { range: 'bytes=65530-65540' })
  assert.deepEqual([again.status, again.body.equals(BYTES.subarray(65_530, 65_541))], [206, true])
})

test('a provider that lies yields no wrong byte, is left out from then on, and the next one is believed', async () => {
  await put(dishonest, OTHERS)
  const seen: Answer[] = []
  const isOver = (answer: Answer): boolean => {
    seen.push(answer)
    return liar.lies > 0
  }
  await eventually(async () => await fetched(OTHERS), isOver)
  assert.ok(seen.every(({ status }) => status !== 200 && status !== 206))
  assert.equal(await providersOf(OTHERS), 0)
  const { lies } = liar
  await put(honest, OTHERS)
  const { body } = await eventually(
    async () => await fetched(OTHERS),
    ({ status }) => status === 200,
  )
  assert.ok(body.equals(OTHERS))
  assert.equal(liar.lies, lies)
})
