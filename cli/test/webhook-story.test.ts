/** From a push at GitHub to a name: signed webhook, rule, proposal, a person's approval, commit, resolve. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { after, before, test } from 'node:test'
import { SystemClock, sleep } from '@cairn/kernel'
import { addressOf } from '@cairn/wire'
import { main } from '../src/main.ts'
import { Capture } from './capture.ts'
import { InnerNode } from './inner-node.ts'
import { type Ran, Workplace } from './processes.ts'

interface Definition {
  readonly name: string
  readonly examples: readonly object[]
}

const EXAMPLES = createRequire(import.meta.url)('@octokit/webhooks-examples') as readonly Definition[]
/** A payload as GitHub sent it once. */
const PUSH = Buffer.from(JSON.stringify(EXAMPLES.find(({ name }) => name === 'push')!.examples[0]))
const ADDRESS = addressOf(PUSH)
const SECRET = 'kept by GitHub and by us'
const NAME = 'pushed@1.0'
/** Effects follow the answer within moments; a busy machine may take longer. */
const TIMEOUT_MS = 30_000
const LOOK_EVERY_MS = 20
const CLOCK = new SystemClock()

let place: Workplace
let node: InnerNode

before(async () => {
  place = await Workplace.make()
  const rule = `{ provider = "github", event = "push", then = "propose:${NAME}" }`
  const provider = ['[interop.providers.github]', 'enabled = true', 'secrets = [{ env = "GITHUB_WEBHOOK_SECRET" }]']
  const toml = ['[interop]', `rules = [${rule}]`, ...provider]
  await writeFile(`${place.directory}/cairn.toml`, `${toml.join('\n')}\n`)
  node = await InnerNode.start({
    data: `${place.directory}/.cairn`,
    config: `${place.directory}/cairn.toml`,
    environment: { GITHUB_WEBHOOK_SECRET: SECRET },
  })
})
after(async () => {
  await node[Symbol.asyncDispose]()
  await place[Symbol.asyncDispose]()
})

async function run(...args: readonly string[]): Promise<Ran> {
  const terminal = new Capture({ environment: { HOME: place.directory } })
  const code = await main([...args, '--data', `${place.directory}/.cairn`], terminal)
  return { code, data: terminal.data, words: terminal.words }
}

async function told(...args: readonly string[]): Promise<string> {
  const { code, data, words } = await run(...args)
  assert.equal(code, 0, `${args.join(' ')}: ${words}`)
  return data
}

async function post(body: Buffer, secret: string, delivery: string): Promise<Record<string, unknown>> {
  const signature = createHmac('sha256', secret).update(body).digest('hex')
  const headers = {
    'content-type': 'application/json',
    'x-github-event': 'push',
    'x-github-delivery': delivery,
    'x-hub-signature-256': `sha256=${signature}`,
  }
  const answer = await fetch(new URL('/webhooks/github', node.urls['interop']?.[0]), { method: 'POST', headers, body })
  return { status: answer.status, ...((await answer.json()) as object) }
}

interface Shown {
  readonly status: string
  readonly payload: { readonly items: readonly object[] }
  readonly approvals: readonly object[]
}

/** Ids of the proposals that are open, once there is one. */
async function openProposals(): Promise<readonly string[]> {
  for (let waited = 0; waited < TIMEOUT_MS; waited += LOOK_EVERY_MS) {
    const { proposals } = (await ask('/registry/proposals')) as { proposals: { proposal_id: string }[] }
    if (proposals.length > 0) return proposals.map(({ proposal_id: id }) => id)
    await sleep(CLOCK, LOOK_EVERY_MS)
  }
  return []
}

async function ask(path: string): Promise<unknown> {
  return await (await fetch(new URL(path, node.urls['registry']?.[0]))).json()
}

test('a push becomes a proposal that a person approves, and then a name that means the stored body', async () => {
  assert.equal((await post(PUSH, 'somebody else’s', 'd-0'))['status'], 401)
  const { status, address } = await post(PUSH, SECRET, 'd-1')
  assert.deepEqual([status, address], [202, ADDRESS])
  const again = await post(PUSH, SECRET, 'd-2')
  assert.deepEqual([again['status'], again['duplicate']], [202, true])

  const [proposal = '', ...others] = await openProposals()
  assert.deepEqual(others, [])
  const { status: state, payload, approvals } = (await ask(`/registry/proposals/${proposal}`)) as Shown
  assert.deepEqual([state, approvals], ['open', []])
  assert.deepEqual(payload.items, [{ kind: 'name', id: NAME, prev: null, manifest: ADDRESS, mutable: true }])
  // Nothing but a signer makes it more than a proposal.
  assert.equal((await run('name', 'commit', '-q', proposal)).code, 8)
  assert.equal((await run('resolve', `name:${NAME}`)).code, 3)

  await told('name', 'approve', '--yes', '-q', proposal)
  await told('name', 'commit', '-q', proposal)
  const resolved = await told('resolve', `name:${NAME}`)
  assert.ok(resolved.includes(ADDRESS), resolved)
  assert.equal(await told('get', ADDRESS), PUSH.toString())
})
