/** What a node says that lost a journal, or found a damaged log: status and doctor agree with /readyz. */
import assert from 'node:assert/strict'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { main } from '../src/main.ts'
import { Capture } from './capture.ts'
import { InnerNode } from './inner-node.ts'
import { type Ran, Workplace } from './processes.ts'

const RECORD_MAGIC = 0x7ca1_12ec
const RECORD_HEADER_BYTES = 72
const SEGMENT_HEADER_BYTES = 128
const CHECKPOINT_KIND = 18

let place: Workplace
let data: string

before(async () => {
  place = await Workplace.make()
  data = `${place.directory}/.cairn`
})
after(async () => {
  await place[Symbol.asyncDispose]()
})

async function run(...args: readonly string[]): Promise<Ran> {
  const terminal = new Capture({ environment: { HOME: place.directory } })
  const code = await main([...args, '--data', data], terminal)
  return { code, data: terminal.data, words: terminal.words }
}

async function put(node: InnerNode): Promise<number> {
  const token = (await readFile(`${data}/admin.token`, 'utf8')).trim()
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/octet-stream' }
  const response = await fetch(`${node.urls['interop']?.[0]}/put`, { method: 'POST', body: 'x', headers })
  await response.body?.cancel()
  return response.status
}

async function ready(node: InnerNode, service: string): Promise<Record<string, unknown>> {
  return (await (await fetch(`${node.urls[service]?.[0]}/readyz`)).json()) as Record<string, unknown>
}

test('a lost journal of interop is named by status, doctor and readyz, until it is adopted', async () => {
  {
    await using node = await InnerNode.start({ data })
    assert.equal(await put(node), 202)
  }
  assert.match((await run('doctor')).data, /✔ journals +as long as they are known to have been/)
  const names = await readdir(`${data}/interop/journal`)
  for (const name of names.filter((each) => each.endsWith('.seg'))) await rm(`${data}/interop/journal/${name}`)
  assert.match(
    (await run('doctor')).data,
    /✖ journals +interop\/journal\/0000000001\.seg has 0 bytes.*\n.*interop adopt/,
  )
  await using node = await InnerNode.start({ data })
  assert.equal(await put(node), 503)
  assert.deepEqual((await ready(node, 'interop'))['missing'], ['journal_whole'])
  const status = await run('status')
  assert.notEqual(status.code, 0)
  assert.match(status.data, /… interop .*journal_whole\n.*0 of 1 audit lines are there.*cairn interop adopt/)
  assert.match(status.words, /npx cairn interop adopt/)
  const doctor = await run('doctor')
  assert.match(doctor.data, /✖ node .*interop waits for journal_whole: .*0 of 1 audit lines are there/)
  const adopted = await run('interop', 'adopt')
  assert.equal(adopted.code, 0, adopted.words)
  assert.match(adopted.words, /line 2 of the audit/)
  assert.equal(await put(node), 202)
  const again = await run('interop', 'adopt')
  assert.match(again.words, /nothing to give up/)
})

test('a registry with a damaged record is degraded in status and doctor, as in readyz', async () => {
  const path = `${data}/registry/journal/0000000001.seg`
  const bytes = await readFile(path)
  const at = recordsOf(bytes).find(({ kind }) => kind === CHECKPOINT_KIND)?.at ?? assert.fail('no checkpoint')
  bytes[at + RECORD_HEADER_BYTES] = (bytes[at + RECORD_HEADER_BYTES] ?? 0) ^ 1
  await writeFile(path, bytes)
  await using node = await InnerNode.start({ data })
  const { log_problem: problem, degraded } = await ready(node, 'registry')
  assert.equal(degraded, true)
  const status = await run('status')
  assert.ok(status.data.includes(`… registry`), status.data)
  assert.ok(status.data.includes(String(problem)), status.data)
  assert.match((await run('doctor')).data, /✖ node .*registry: Entry \d+.*\n.*cairn status/)
})

test('a key file that is missing is named by doctor and by the start, and token reset is one way out', async () => {
  const before = await readFile(`${data}/admin.token`, 'utf8')
  await rm(`${data}/keys/revoked-tokens`)
  assert.match((await run('doctor')).data, /✖ keys +missing: keys\/revoked-tokens\n.*token reset/)
  const refused = await run('start', '--port-base', '0')
  assert.notEqual(refused.code, 0)
  assert.match(refused.words, /revoked-tokens is missing; restore .*token reset/s)
  assert.equal((await run('token', 'reset')).code, 0)
  await using node = await InnerNode.start({ data })
  assert.equal(await put(node), 202)
  const headers = { authorization: `Bearer ${before.trim()}` }
  const response = await fetch(`${node.urls['interop']?.[0]}/put`, { method: 'POST', body: 'x', headers })
  await response.body?.cancel()
  assert.equal(response.status, 401, 'nothing minted before is valid')
})

function recordsOf(bytes: Buffer): { readonly at: number; readonly kind: number }[] {
  const found: { readonly at: number; readonly kind: number }[] = []
  for (let at = SEGMENT_HEADER_BYTES; at + RECORD_HEADER_BYTES <= bytes.length; at += 8)
    if (bytes.readUInt32LE(at) === RECORD_MAGIC) found.push({ at, kind: bytes[at + 4] ?? 0 })
  return found
}
