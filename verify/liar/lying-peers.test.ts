/** What one peer that lies cannot do: the findings that showed it could, as cases. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Address, addressOf, statementText } from '@cairn/wire'
import { tokenFor } from '../../services/storage/test/harness.ts'
import { isProblem } from '../virtual/answer.ts'
import { noise } from '../virtual/noise.ts'
import { LiarNodes } from './liar-nodes.ts'

const OBJECTS = Array.from({ length: 6 }, (_, at) => noise(400 + 37 * at, at + 1))
const IDS = OBJECTS.map((bytes) => addressOf(bytes))

async function putAll(nodes: LiarNodes): Promise<void> {
  for (const body of OBJECTS) assert.equal((await nodes.at('a').ask('POST', '/o', { body })).status, 201)
}

async function mustReadAll(nodes: LiarNodes, ids: readonly Address[] = IDS): Promise<void> {
  for (const name of nodes.names)
    for (const id of ids) {
      const { status, body } = await nodes.at(name).ask('GET', `/o/${id}`, { token: null })
      assert.equal(status, 200, `${name} has ${id.slice(0, 11)}: ${body.toString('latin1', 0, 200)}`)
    }
}

test('P1: tombstones that no member signed remove nothing, held or not, and delete nothing later', async () => {
  for (const lie of ['tombstones of everything', 'tombstones as new as the copies', 'forged records'] as const) {
    const nodes = await new LiarNodes().start()
    await putAll(nodes)
    for (const id of IDS.slice(0, 3)) assert.equal((await nodes.at('a').ask('PUT', `/refs/me/${id}`)).status, 204)
    await nodes.lie(5000, lie)
    await mustReadAll(nodes)
    await nodes.sleep(5000)
    await mustReadAll(nodes)
    const [first, , , free] = IDS
    isProblem(await nodes.at('b').ask('DELETE', `/o/${first!}`), 409, 'referenced')
    assert.equal((await nodes.at('b').ask('DELETE', `/o/${free!}`)).status, 204)
    await nodes.sleep(5000)
    for (const name of nodes.names) isProblem(await nodes.at(name).ask('GET', `/o/${free!}`), 404, 'not_found')
    await nodes.stop()
  }
})

test('P1: a delete of one object says nothing about another, nor about the object once it is put again', async () => {
  const nodes = await new LiarNodes().start()
  await putAll(nodes)
  const [id] = IDS
  assert.equal((await nodes.at('a').ask('DELETE', `/o/${id!}`)).status, 204)
  await nodes.sleep(3000)
  assert.ok((await nodes.at('a').ask('POST', '/o', { body: OBJECTS[0]! })).status < 300)
  await nodes.lie(5000, 'replayed records', 'tombstones of everything')
  await mustReadAll(nodes)
  await nodes.stop()
})

test('P7: with the token of a peer alone nothing is deleted, and nothing that is held even with its signature', async () => {
  const nodes = await new LiarNodes().start()
  await putAll(nodes)
  const [held, free] = IDS
  assert.equal((await nodes.at('a').ask('PUT', `/refs/me/${held!}`)).status, 204)
  for (const name of nodes.names) {
    const remove = async (id: Address, record: string) =>
      await nodes.at(name).ask('DELETE', `/o/${id}?copy=99999&agreed`, {
        headers: { 'x-cairn-statement': record, 'x-cairn-node': 'm' },
      })
    isProblem(await remove(free!, ''), 409, 'unsigned_delete')
    const other = statementText(nodes.behind.parts.statements.signDelete(held!, 99_998))
    isProblem(await remove(held!, other), 409, 'unsigned_delete')
  }
  await mustReadAll(nodes)
  const signed = statementText(nodes.behind.parts.statements.signDelete(held!, 99_999))
  const asked = nodes.names.map(
    async (name) =>
      await nodes
        .at(name)
        .send('DELETE', `/o/${held!}?copy=99999&agreed`, { headers: { 'x-cairn-statement': signed } }),
  )
  const codes = (await nodes.world.run(Promise.all(asked))).map(({ code }) => code)
  assert.ok(codes.includes('referenced'), codes.join())
  await nodes.sleep(5000)
  assert.equal((await nodes.at('a').ask('GET', `/o/${held!}`)).status, 200)
  await nodes.stop()
})

test('P7: the token of a peer is none of a client: it deletes, holds, lists and repairs nothing', async () => {
  const nodes = await new LiarNodes().start()
  await putAll(nodes)
  const token = tokenFor(['storage:peer', 'storage:write'])
  const [id] = IDS
  for (const [method, target] of [
    ['DELETE', `/o/${id}`],
    ['PUT', `/refs/me/${id}`],
    ['GET', '/admin/objects'],
    ['POST', '/admin/repair'],
  ] as const)
    isProblem(await nodes.at('a').ask(method, target, { token }), 403, 'scope_missing')
  const known = { token, body: { ids: [id] } }
  assert.equal((await nodes.at('a').ask('POST', '/copies/known', known)).status, 200)
  assert.ok((await nodes.at('a').ask('PUT', `/o/${id}?copy=5`, { token, body: OBJECTS[0] })).status < 300)
  await nodes.stop()
})

test('P2: a node that was not away keeps what it has, however often a peer tells it to come back empty', async () => {
  const nodes = await new LiarNodes().start()
  await putAll(nodes)
  await nodes.lie(8000, 'come back empty')
  await nodes.sleep(3000)
  await mustReadAll(nodes)
  for (const name of nodes.names) assert.equal(nodes.at(name).parts.drives.all[0]?.emptied, 0)
  await nodes.stop()
})

test('P3: no version that a peer tells stops puts or deletes, while it tells it or later, or after a restart', async () => {
  for (const lies of [
    ['a huge version'],
    ['knows newer than every put', 'a huge counter'],
    ['refuses every put'],
  ] as const) {
    const nodes = await new LiarNodes().start()
    await putAll(nodes)
    nodes.liar.tell(...lies)
    const write = async (from: number): Promise<void> => {
      for (let at = from; at < from + 4; at += 1)
        for (const name of nodes.names) {
          const body = noise(900, 1000 + at)
          const { status, body: text } = await nodes.at(name).ask('POST', '/o', { body })
          assert.ok(status < 300, `${lies[0]}: ${status} ${text.toString()}`)
        }
    }
    await nodes.sleep(3000)
    await write(0)
    nodes.liar.tell()
    for (const name of nodes.names) nodes.world.machine(name).crash()
    await nodes.start()
    await nodes.sleep(65_000)
    await write(10)
    assert.equal((await nodes.at('a').ask('DELETE', `/o/${IDS[0]!}`)).status, 204, lies[0])
    await nodes.sleep(3000)
    await mustReadAll(nodes, IDS.slice(1))
    await nodes.stop()
  }
})

test('P5: a claim of a newer copy hides none that an honest node has', async () => {
  for (const lies of [['newer than everybody'], ['has it, and has no facts'], ['absent what it has']] as const) {
    const nodes = await new LiarNodes().start()
    await putAll(nodes)
    nodes.liar.tell(...lies)
    await mustReadAll(nodes)
    await nodes.sleep(4000)
    await mustReadAll(nodes)
    await nodes.stop()
  }
})

test('P4: a peer that says yes and keeps nothing is caught and named, and what it was given is copied to others', async () => {
  const nodes = await new LiarNodes().start()
  nodes.liar.tell('copies without bytes')
  for (const body of OBJECTS) {
    const { status, headers } = await nodes.at('a').ask('POST', '/o', { body })
    assert.match(`${status} ${headers['x-cairn-copies']}`, /^201 2\/2; told=[12]$/, 'what is a word is called one')
  }
  await nodes.sleep(15_000)
  for (const name of nodes.names) {
    const node = nodes.at(name)
    const report = (await node.ask('GET', '/admin/durability')).fields()
    assert.match(JSON.stringify(report['places']), /It says that it has copies, and does not have them/, name)
    const known = await nodes.world.run(node.parts.own.known(IDS))
    assert.deepEqual(new Set(known.map(({ tag }) => tag)), new Set(['object']), `${name} has a copy of each`)
  }
  nodes.liar.tell()
  for (const name of nodes.names) {
    assert.equal((await nodes.at(name).ask('POST', '/admin/scrub')).status, 202)
    assert.equal((await nodes.at(name).ask('POST', '/admin/repair')).status, 202)
  }
  await nodes.sleep(10_000)
  for (const name of nodes.names) {
    const { full, objects, proved } = nodes.at(name).parts.replication.plan.last!
    assert.deepEqual({ full, proved }, { full: objects, proved: 2 }, 'every copy is proved by this node itself')
  }
  await mustReadAll(nodes)
  await nodes.stop()
})

test('P6: an owner that a peer makes up keeps nothing from being deleted once the peer is honest', async () => {
  const nodes = await new LiarNodes({ durability: { replication_factor: 3 } }).start()
  await putAll(nodes)
  await nodes.lie(8000, 'owners that do not exist')
  await nodes.sleep(3000)
  for (const id of IDS) assert.equal((await nodes.at('a').ask('DELETE', `/o/${id}`)).status, 204)
  await nodes.stop()
})
