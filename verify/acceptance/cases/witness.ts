/** What vanishes between a stop and a start is missed: a journal, a key file, what a log has signed. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { cp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { parseCheckpoint, parseNote } from '@cairn/tlog'
import { acceptance } from '../case.ts'
import { type Answer, type RunningNode, StartFailed } from '../node.ts'
import { changed, flipped, RECORD_HEADER_BYTES, recordsIn, segmentsIn } from '../segments.ts'
import type { World } from '../world.ts'

const SECRET = 'a secret of the sender'
const WEBHOOKS = 10
const CHECKPOINT_KIND = 18
const LIMITS = { limitMs: 120_000 } as const

const CONFIG = '[interop.providers.github]\nenabled = true\nsecrets = [{ env = "HOOK_SECRET" }]\n'

async function startTakingWebhooks(world: World): Promise<RunningNode> {
  return await world.startNode({ config: CONFIG, env: { HOOK_SECRET: SECRET } })
}

async function webhook(node: RunningNode, number: number): Promise<Answer> {
  const body = JSON.stringify({ number })
  const signature = createHmac('sha256', SECRET).update(body).digest('hex')
  const headers = { 'content-type': 'application/json', 'x-github-event': 'push', 'x-github-delivery': `d-${number}` }
  const signed = { ...headers, 'x-hub-signature-256': `sha256=${signature}` }
  return await node.request('interop', '/webhooks/github', { method: 'POST', headers: signed, body })
}

function fieldsOf({ body }: Answer): Record<string, unknown> {
  return JSON.parse(body.toString()) as Record<string, unknown>
}

async function onlySegment(directory: string): Promise<string> {
  const [segment, ...others] = await segmentsIn(directory)
  assert.equal(others.length, 0)
  return segment ?? assert.fail('no segment')
}

const LOSSES: readonly { readonly what: string; readonly lose: (directory: string) => Promise<void> }[] = [
  {
    what: 'was deleted',
    lose: async (directory) => {
      for (const segment of await segmentsIn(directory)) await rm(segment)
    },
  },
  {
    what: 'was cut to half',
    lose: async (directory) =>
      await changed(await onlySegment(directory), (bytes) => bytes.subarray(0, bytes.length / 2)),
  },
  {
    what: 'was cut where a record ends',
    lose: async (directory) =>
      await changed(await onlySegment(directory), (bytes) => bytes.subarray(0, recordsIn(bytes).at(-1)?.at)),
  },
  {
    what: 'has a flipped bit in its last record',
    lose: async (directory) =>
      await changed(await onlySegment(directory), (bytes) =>
        flipped(bytes, (recordsIn(bytes).at(-1)?.at ?? 0) + RECORD_HEADER_BYTES + 8),
      ),
  },
]

for (const { what, lose } of LOSSES)
  acceptance(
    `witness: after a stop interop takes nothing when its journal ${what}`,
    { finding: 'attack R3', ...LIMITS },
    async (world) => {
      const node = await startTakingWebhooks(world)
      for (let number = 1; number <= WEBHOOKS; number += 1) assert.equal((await webhook(node, number)).status, 202)
      assert.deepEqual(await node.stop(), { code: 0, signal: null })
      await lose(join(node.data, 'interop/journal'))
      await node.relaunch()
      await node.ready()

      const ready = await node.request('interop', '/readyz')
      assert.equal(ready.status, 503)
      assert.match(String(fieldsOf(ready)['missing']), /journal/)
      const again = await webhook(node, WEBHOOKS)
      assert.deepEqual([again.status, fieldsOf(again)['code']], [503, 'JOURNAL_LOST'])
      assert.equal((await node.request('interop', '/audit', { admin: true })).status, 200)
      const status = await node.cairn('status')
      assert.notEqual(status.code, 0)
      assert.match(status.out, /… interop/)
      assert.match(`${status.out}${status.err}`, /cairn interop adopt/)
      assert.match((await node.cairn('doctor')).out, /✖ node .*interop/)

      assert.equal((await node.cairn('interop', 'adopt')).code, 0)
      assert.equal((await webhook(node, WEBHOOKS + 1)).status, 202)
      await node.restart()
      assert.equal((await node.request('interop', '/readyz')).status, 200)
      const audit = await node.cairn('audit', 'verify')
      assert.equal(audit.code, 0, audit.err)
    },
  )

async function publish(node: RunningNode, name: string, address: string): Promise<void> {
  const proposed = await node.cairn('name', 'propose', '-q', name, address)
  assert.equal(proposed.code, 0, proposed.err)
  const approved = await node.cairn('name', 'approve', '--yes', '-q', proposed.out.trim())
  assert.equal(approved.code, 0, approved.err)
  const committed = await node.cairn('name', 'commit', '-q', proposed.out.trim())
  assert.equal(committed.code, 0, committed.err)
}

async function checkpointOf(node: RunningNode): Promise<{ readonly size: number; readonly root: string }> {
  const { body } = await node.request('registry', '/log/checkpoint')
  const { size, root } = parseCheckpoint(parseNote(body).text)
  return { size, root: Buffer.from(root).toString('hex') }
}

acceptance(
  'witness: a registry put back from an older copy signs nothing',
  { finding: 'attack R5', limitMs: 180_000 },
  async (world) => {
    const node = await world.startNode()
    const address = await node.put('contents')
    await publish(node, 'first@1.0', address)
    await node.stop()
    await cp(node.data, world.path('copy'), { recursive: true })
    await node.relaunch()
    await node.ready()
    for (let at = 0; at < 4; at += 1) await publish(node, `more-${at}@1.0`, address)
    const newest = await checkpointOf(node)
    await node.stop()
    await rename(node.data, world.path('newest'))
    await cp(world.path('copy'), node.data, { recursive: true })
    await node.relaunch()
    await node.ready()

    const before = await checkpointOf(node)
    assert.ok(before.size < newest.size)
    const refused = await node.cairn('name', 'propose', '-q', 'other@1.0', address)
    assert.notEqual(refused.code, 0)
    assert.match(refused.err, /older copy/)
    assert.match(refused.err, /cairn registry adopt/)
    assert.deepEqual(await checkpointOf(node), before)
    assert.equal(fieldsOf(await node.request('registry', '/readyz'))['write_ready'], false)
    assert.match((await node.cairn('status')).out, /… registry/)
    for (const proof of [['--moved'], ['--checkpoint', await saved(world, node)]])
      assert.notEqual((await node.cairn('registry', 'adopt', ...proof)).code, 0)

    await node.stop()
    await rm(node.data, { recursive: true })
    await rename(world.path('newest'), node.data)
    await node.relaunch()
    await node.ready()
    assert.deepEqual(await checkpointOf(node), newest)
    await publish(node, 'goes-on@1.0', address)
  },
)

async function saved(world: World, node: RunningNode): Promise<string> {
  return await world.write('own.txt', (await node.request('registry', '/log/checkpoint')).body)
}

acceptance(
  'witness: status says of a damaged log what readyz says',
  { finding: 'attack R6', ...LIMITS },
  async (world) => {
    const node = await world.startNode()
    await publish(node, 'first@1.0', await node.put('contents'))
    await node.stop()
    await changed(await onlySegment(join(node.data, 'registry/journal')), (bytes) => {
      const { at } = recordsIn(bytes).find(({ kind }) => kind === CHECKPOINT_KIND) ?? assert.fail('no checkpoint')
      return flipped(bytes, at + RECORD_HEADER_BYTES)
    })
    await node.relaunch()
    await node.ready()
    const problem = await world.eventually(async () => {
      const { log_problem: told, degraded } = fieldsOf(await node.request('registry', '/readyz'))
      return degraded === true && typeof told === 'string' ? told : undefined
    })
    const { out } = await node.cairn('status')
    assert.doesNotMatch(out, /✔ registry/)
    assert.ok(out.includes(problem), out)
  },
)

acceptance(
  'witness: a list of revoked tokens that is missing is an error, and no empty list',
  { finding: 'attack S4', ...LIMITS },
  async (world) => {
    const node = await world.startNode()
    const minted = await node.cairn('token', 'mint', '-q', '--for', 'storage', '--scope', 'storage:write')
    const token = minted.out.trim()
    const attempt = async (): Promise<number> => {
      const headers = { authorization: `Bearer ${token}` }
      return (await node.request('storage', '/o', { method: 'POST', headers, body: 'x' })).status
    }
    assert.equal(await attempt(), 201)
    const { out } = await node.cairn('token', 'inspect', '--json', token)
    const { result } = JSON.parse(out) as { result: { tokens: { tid: string }[] } }
    assert.equal((await node.cairn('token', 'revoke', result.tokens[0]?.tid ?? '')).code, 0)
    assert.equal(await attempt(), 401)
    await node.stop()
    await rm(join(node.data, 'keys/revoked-tokens'))
    await node.relaunch()
    const refusal: unknown = await node.ready().catch((error: unknown) => error)
    assert.ok(refusal instanceof StartFailed, 'it started without the list')
    assert.match(refusal.output, /revoked-tokens is missing/)
    assert.match((await node.cairn('doctor')).out, /✖ keys .*revoked-tokens/)
    assert.equal((await node.cairn('token', 'reset')).code, 0)
    await node.relaunch()
    await node.ready()
    assert.equal(await attempt(), 401)
  },
)
