/** From bytes to a name that anybody can check: put, propose, approve, commit, resolve, verify offline. */
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { SystemClock, sleep } from '@cairn/kernel'
import { main } from '../src/main.ts'
import { Capture } from './capture.ts'
import { InnerNode } from './inner-node.ts'
import { type Ran, Workplace } from './processes.ts'

const LOOK_EVERY_MS = 5
const VERSIONS = 4
const CLOCK = new SystemClock()

let place: Workplace
let node: InnerNode

before(async () => {
  place = await Workplace.make()
  node = await InnerNode.start({ data: path('.cairn') })
})
after(async () => {
  await node[Symbol.asyncDispose]()
  await place[Symbol.asyncDispose]()
})

/** In this process, which is quicker than one for each command. */
async function run(...args: readonly string[]): Promise<Ran> {
  const terminal = new Capture({ environment: { HOME: place.directory } })
  const code = await main([...args, '--data', path('.cairn')], terminal)
  return { code, data: terminal.data, words: terminal.words }
}

/** What is on standard output, from a command that has to succeed. */
async function told(...args: readonly string[]): Promise<string> {
  const { code, data, words } = await run(...args)
  assert.equal(code, 0, `${args.join(' ')}: ${words}`)
  return data.trim()
}

const path = (name: string): string => `${place.directory}/${name}`

interface Published {
  readonly address: string
  /** When the commit was answered. */
  readonly committedAt: number
}

/** Stores, proposes, approves and commits. */
async function publish(name: string, content: string): Promise<Published> {
  await writeFile(path('site.txt'), content)
  const address = await told('put', '-q', path('site.txt'))
  const proposal = await told('name', 'propose', '-q', name, address, '--channel')
  await told('name', 'approve', '--yes', '-q', proposal)
  await told('name', 'commit', '-q', proposal)
  return { address, committedAt: CLOCK.now() }
}

async function meaningOf(name: string): Promise<unknown> {
  const answer = await fetch(new URL(`/resolve/name:${name}`, node.urls['index']?.[0]))
  const body = (await answer.json()) as Record<string, unknown>
  return answer.status === 200 ? body['manifest_cid'] : answer.status
}

/** Waits until the index says so; gives how long after the commit that was. */
async function resolvable(name: string, { address, committedAt }: Published): Promise<number> {
  // A name that is never resolved ends at the limit of the test.
  while ((await meaningOf(name)) !== address) await sleep(CLOCK, LOOK_EVERY_MS)
  return CLOCK.now() - committedAt
}

test('a commit is resolvable at once, whatever was asked before', async (t) => {
  assert.equal(await meaningOf('site@1.0'), 404)
  const waits: number[] = []
  for (let version = 1; version <= VERSIONS; version += 1) {
    waits.push(await resolvable('site@1.0', await publish('site@1.0', `the site, version ${version}`)))
  }
  const [fastest, slowest] = [Math.min(...waits), Math.max(...waits)]
  t.diagnostic(`resolvable ${Math.round(fastest)} to ${Math.round(slowest)} ms after the commit was answered`)
})

test('resolve writes a proof that verify-proof accepts offline, and refuses after one flipped byte', async () => {
  await told('registry', 'trust', '-o', path('trust.json'))
  const shown = await told('resolve', 'name:site@1.0', '--proof', path('site.proof'))
  const address = /manifest +(b3:[0-9a-f]{64})/.exec(shown)?.[1]
  await node.stop()
  const verified = await told('verify-proof', path('site.proof'), '--trust', path('trust.json'))
  assert.match(verified, /^verdict +verified$/m)
  assert.ok(verified.includes(`site@1.0 means ${address} at version ${VERSIONS}`), verified)
  const proof = await readFile(path('site.proof'))
  for (const at of [0, 100, proof.length >> 1, proof.length - 3]) {
    const flipped = Buffer.from(proof)
    flipped[at]! ^= 1
    await writeFile(path('flipped.proof'), flipped)
    assert.equal(
      (await run('verify-proof', path('flipped.proof'), '--trust', path('trust.json'))).code,
      4,
      `byte ${at}`,
    )
  }
})

test('after a restart the name is still there, and its proof continues what was verified', async () => {
  node = await InnerNode.start({ data: path('.cairn') })
  const published = await publish('other@1', 'another')
  await resolvable('other@1', published)
  await told('resolve', 'name:other@1', '--proof', path('other.proof'))
  const verified = await told('verify-proof', path('other.proof'))
  assert.match(verified, /pin +The checkpoint continues the one of size/)
  assert.ok(verified.includes(`other@1 means ${published.address}`))
  const unknown = await run('resolve', 'name:none@1')
  assert.equal(unknown.code, 3, unknown.words)
})
