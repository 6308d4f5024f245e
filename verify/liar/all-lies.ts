/** One cluster of two honest nodes and a liar, through one lie: what was told holds while it lies, and after it is gone. */
import assert from 'node:assert/strict'
import { type Address, addressOf } from '@cairn/wire'
import { isProblem } from '../virtual/answer.ts'
import { noise } from '../virtual/noise.ts'
import { VirtualWorld } from '../virtual/world.ts'
import { LiarNodes } from './liar-nodes.ts'
import type { LieName } from './lies.ts'

/** What a client may be told in place of a yes while a peer lies. */
const REFUSED = /^(409 referenced|503 \w+|504 timeout|429 busy)$/
const CHUNK = 65_536

function objectsOf(from: number): Buffer[] {
  return [300, 900, 1500, 2 * CHUNK + 5].map((size, at) => noise(size, from + at))
}

/** How many clients were refused while it lied. */
export async function liveWith(lie: LieName, copies: number, seed: number): Promise<number> {
  const durability = { replication_factor: copies, allow_degraded_writes: copies === 3 }
  const nodes = await new LiarNodes({ durability }, new VirtualWorld(seed)).start()
  const there = new Map<Address, Buffer>()
  let refused = 0
  const put = async (name: string, body: Buffer): Promise<void> => {
    const { status, code } = await nodes.at(name).ask('PUT', `/o/${addressOf(body)}?stream`, { body })
    if (status < 300) there.set(addressOf(body), body)
    else assert.match(`${status} ${code}`, REFUSED)
    if (status >= 300) refused += 1
  }
  const mustRead = async (when: string): Promise<void> => {
    for (const name of nodes.names)
      for (const [id, bytes] of there) {
        const { status, body } = await nodes.at(name).ask('GET', `/o/${id}`, { token: null })
        assert.equal(status, 200, `${lie}, ${when}: ${name}: ${body.toString('latin1', 0, 200)}`)
        assert.ok(body.equals(bytes))
      }
  }
  for (const body of objectsOf(1)) await put('a', body)
  const [held, gone] = [...there.keys()]
  assert.ok(held !== undefined && gone !== undefined)
  assert.equal((await nodes.at('a').ask('PUT', `/refs/me/${held}`)).status, 204)
  assert.equal((await nodes.at('a').ask('DELETE', `/o/${gone}`)).status, 204)
  there.delete(gone)
  nodes.liar.tell(lie)
  await nodes.sleep(3000)
  await mustRead('told before')
  for (const body of objectsOf(100)) await put('b', body)
  await nodes.sleep(4000)
  await mustRead('told meanwhile')
  const free = [...there.keys()].at(-1) ?? gone
  const { status, code } = await nodes.at('a').ask('DELETE', `/o/${free}`)
  if (status === 204) there.delete(free)
  else assert.match(`${status} ${code}`, REFUSED)
  await nodes.sleep(3000)
  nodes.liar.tell()
  for (const name of nodes.names) await nodes.at(name).ask('POST', '/admin/repair')
  await nodes.sleep(70_000)
  // One that was refused may have been done.
  if (status !== 204) assert.ok([204, 404].includes((await nodes.at('b').ask('DELETE', `/o/${free}`)).status), lie)
  there.delete(free)
  await nodes.sleep(3000)
  for (const name of nodes.names) isProblem(await nodes.at(name).ask('GET', `/o/${free}`), 404, 'not_found')
  isProblem(await nodes.at('b').ask('DELETE', `/o/${held}`), 409, 'referenced')
  await mustRead('when it is honest')
  for (const name of nodes.names) {
    const { last } = nodes.at(name).parts.replication.plan
    assert.equal(last?.full, last?.objects, `${lie}: ${JSON.stringify(last)}`)
  }
  await nodes.stop()
  return refused
}
