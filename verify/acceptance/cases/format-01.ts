/** A data directory that format 0.1 (15198c7) left behind opens, holds all that it held, and goes on. */
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { bytesOf } from '../bytes.ts'
import { acceptance } from '../case.ts'
import type { FixtureName, NodeFacts } from '../fixtures/facts.ts'
import { WEBHOOK_SECRET } from '../fixtures/facts.ts'
import {
  mustHoldDirectories,
  mustHoldMessages,
  mustHoldNames,
  mustHoldObjects,
  mustProve,
  type Opened,
  unpackFormat01,
} from '../fixtures/format-01.ts'
import type { RunningNode } from '../node.ts'
import { nameIt, sendWebhook, sha256, told } from '../operations.ts'
import type { World } from '../world.ts'

const LIMIT_MS = 120_000

async function mustHoldAll(node: RunningNode, facts: NodeFacts): Promise<void> {
  await mustHoldObjects(node, facts)
  await mustHoldNames(node, facts)
  await mustHoldMessages(node, facts)
}

/** Puts, deletes, names and takes a webhook; what is there afterwards. */
async function goOn(node: RunningNode, facts: NodeFacts): Promise<NodeFacts> {
  const bytes = bytesOf(200_001, 'new')
  const address = await node.put(bytes)
  const gone = facts.objects.at(-1)?.address ?? ''
  assert.equal((await node.request('storage', `/o/${gone}`, { method: 'DELETE', admin: true })).status, 204)
  const version = await nameIt(node, 'new@1', address)
  assert.equal(version, facts.versions + 1)
  const webhook = { secret: WEBHOOK_SECRET, event: 'push', delivery: 'd-new', body: '{"new":true}' }
  assert.equal((await sendWebhook(node, webhook)).status, 202)
  const deploys = { ready: (facts.mailbox['deploys']?.ready ?? 0) + 1, dead: 0 }
  return {
    ...facts,
    objects: [...facts.objects.slice(0, -1), { address, size: bytes.length, sha256: sha256(bytes) }],
    deleted: [...facts.deleted, gone],
    names: [...facts.names, { name: 'new@1', address, version }],
    versions: version,
    auditLines: facts.auditLines + 1,
    mailbox: { ...facts.mailbox, deploys },
  }
}

async function openAndGoOn(world: World, { facts, data, config, env }: Opened): Promise<[RunningNode, NodeFacts]> {
  const node = await world.startNode({ data, config, env })
  await mustHoldAll(node, facts)
  await mustHoldDirectories(world, node, facts)
  await mustProve(world, node, facts)
  await told(node, 'scrub', '--wait', '--timeout', '60s')
  const later = await goOn(node, facts)
  assert.deepEqual(await node.stop(), { code: 0, signal: null })
  await node.relaunch()
  await node.ready()
  await mustHoldAll(node, later)
  return [node, later]
}

const NODES: Readonly<Record<FixtureName, string>> = {
  single: 'a compacted journal on one drive',
  drives: 'two copies on two drives, killed',
  erasure: 'shards on three drives',
}

for (const name of ['single', 'drives', 'erasure'] as const)
  acceptance(`format-01: ${NODES[name]}: all of it is there, and goes on`, { limitMs: LIMIT_MS }, async (world) => {
    const opened = await unpackFormat01(world, name)
    const [node, later] = await openAndGoOn(world, opened)
    if (name === 'single') return
    // Any one drive may go.
    await node.stop()
    await rm(join(opened.directory, 'drive-b'), { recursive: true })
    await node.relaunch()
    await node.ready()
    await mustHoldObjects(node, { ...later, held: [] })
  })

acceptance(
  'format-01: without its index directories, which are made anew: all of it is there, and goes on',
  { limitMs: LIMIT_MS },
  async (world) => {
    const opened = await unpackFormat01(world, 'single')
    for (const index of ['storage/index', 'edge/cas/index', 'edge/cas/entries'])
      await rm(join(opened.data, index), { recursive: true })
    await openAndGoOn(world, opened)
  },
)
