/**
 * Another program takes all the room there is on a drive.
 *
 *     │ ours │ reserve ░░░ │ the other program's ▓▓▓▓▓▓▓▓▓▓▓▓│      free: 0
 *
 * What was stored is read and can be deleted, with what the reserve gives back, before a restart and after it; a node
 * starts. Nothing else is wrong meanwhile: what is refused then is refused because of this.
 */
import assert from 'node:assert/strict'
import type { Random } from '@cairn/kernel'
import { addressOf } from '@cairn/wire'
import type { Cluster } from '../cluster.ts'
import { DATA, RESERVE_BYTES } from '../settings.ts'
import type { SimNode } from '../sim-node.ts'
import { eventually } from '../workloads/eventually.ts'
import { outcomeOf } from '../workloads/outcome.ts'
import type { Fault } from './fault.ts'

const OBJECTS = 4
const OBJECT_BYTES = 2000

export const filledDrive: Fault = async (cluster, name, random) => {
  const node = cluster.node(name)
  const { drive } = node.machine
  const hasReserve = (): boolean => drive.size(`${DATA}/storage/journal/reserve`) >= RESERVE_BYTES
  await eventually(cluster, `${name} has no reserve`, async () => await Promise.resolve(hasReserve()))
  const stored = await store(cluster, node, random)
  const takenBytes = drive.space.freeBytes
  drive.capacityBytes -= takenBytes
  const lasting = cluster.striking('filled-drive', [name])
  await mustServe(cluster, node, stored.slice(0, OBJECTS / 2), random)
  if (random.next() < 0.5) await cluster.bringDown(name)
  else node.machine.kill()
  await cluster.bringUp(name)
  assert.equal(node.state, 'up', `${name} does not start on a full drive: ${node.why}`)
  await mustServe(cluster, node, stored.slice(OBJECTS / 2), random)
  return () => {
    drive.capacityBytes += takenBytes
    lasting[Symbol.dispose]()
  }
}

interface Stored {
  readonly path: string
  readonly bytes: Buffer
}

async function store(cluster: Cluster, node: SimNode, random: Random): Promise<readonly Stored[]> {
  const stored = Array.from({ length: OBJECTS }, () => objectOf(random))
  for (const { path, bytes } of stored) {
    const isStored = async (): Promise<boolean> =>
      outcomeOf(path, await cluster.send(node, 'storage', 'PUT', path, { body: bytes }), [200, 201]) === 'acknowledged'
    await eventually(cluster, `${node.name} stores nothing`, isStored)
  }
  return stored
}

async function mustServe(cluster: Cluster, node: SimNode, stored: readonly Stored[], random: Random): Promise<void> {
  const { path, bytes: more } = objectOf(random)
  // Refused, or kept by the two others.
  const put = await cluster.send(node, 'storage', 'PUT', path, { body: more })
  const isPut = outcomeOf(`put to a full drive`, put, [200, 201]) === 'acknowledged'
  for (const { path: each, bytes } of stored) {
    const isRead = async (): Promise<boolean> => {
      const { status, body } = await cluster.send(node, 'storage', 'GET', each, { token: null })
      assert.ok(status !== 404 && (status !== 200 || body.equals(bytes)), `${each} was ${status} on a full drive`)
      return status === 200
    }
    await eventually(cluster, `${node.name} reads nothing of a full drive`, isRead)
  }
  for (const each of [...stored.map((one) => one.path), ...(isPut ? [path] : [])]) {
    const isDeleted = async (): Promise<boolean> => {
      const { status } = await cluster.send(node, 'storage', 'DELETE', each)
      // The second, if the answer of the first did not come.
      return status === 204 || status === 404
    }
    await eventually(cluster, `${node.name} deletes nothing of a full drive`, isDeleted)
  }
}

function objectOf(random: Random): Stored {
  const bytes = Buffer.from(random.bytes(OBJECT_BYTES))
  return { path: `/o/${addressOf(bytes)}`, bytes }
}
