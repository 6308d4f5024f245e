/** From a provider that is let in to a message that is done, and one that failed too often: a node, and one who runs it. */
import assert from 'node:assert/strict'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { main } from '../src/main.ts'
import { Capture } from './capture.ts'
import { InnerNode } from './inner-node.ts'
import { type Ran, Workplace } from './processes.ts'

const RECEIPT = /^[0-9a-f]{32}:\d+:[0-9a-f]+$/
const SLACK_SECRET = 'a-signing-secret'

let place: Workplace
let node: InnerNode | undefined
let environment: Record<string, string> = {}

before(async () => {
  place = await Workplace.make()
  environment = { XDG_CONFIG_HOME: path('config'), SLACK_SIGNING_SECRET: SLACK_SECRET }
})
after(async () => {
  await node?.[Symbol.asyncDispose]()
  await place[Symbol.asyncDispose]()
})

/** Tells when the command has said something. */
class Listening extends Capture {
  readonly #spoken = Promise.withResolvers<void>()
  readonly spoken = this.#spoken.promise

  override readonly say = (text: string): void => {
    this.words += text
    this.#spoken.resolve()
  }
}

const path = (name: string): string => `${place.directory}/${name}`

/** In this process, which is quicker; the streams are the same. */
function begin(
  args: readonly string[],
  own = environment,
): { readonly terminal: Listening; readonly ended: Promise<Ran> } {
  const terminal = new Listening({ environment: own })
  const ended = main([...args, '--data', path('.cairn')], terminal)
  return { terminal, ended: ended.then((code) => ({ code, data: terminal.data, words: terminal.words })) }
}

async function cairn(...args: readonly string[]): Promise<Ran> {
  return await begin(args).ended
}

async function told(...args: readonly string[]): Promise<string> {
  const { code, data, words } = await cairn(...args)
  assert.equal(code, 0, `${args.join(' ')}: ${words}`)
  return data
}

async function result(...args: readonly string[]): Promise<Record<string, unknown>> {
  return (JSON.parse(await told(...args, '--json')) as { result: Record<string, unknown> }).result
}

async function refused(exit: number, code: string, ...args: readonly string[]): Promise<string> {
  const { data } = await cairn(...args, '--json')
  const { error } = JSON.parse(data) as { error: { code: string; exit_code: number; detail: string } | null }
  assert.deepEqual([error?.code, error?.exit_code], [code, exit], error?.detail ?? 'it was not refused')
  return error?.detail ?? ''
}

test('a provider is let in by lines of configuration, and its secret is for its owner alone', async () => {
  const github = await told('hook', 'add', 'github', '--generate')
  const file = path('config/cairn/hooks/github.secret')
  assert.equal(github, `[interop.providers.github]\nenabled = true\nsecrets = [{ file = ${JSON.stringify(file)} }]\n`)
  assert.equal((await stat(file)).mode & 0o777, 0o600)
  const secret = await readFile(file, 'utf8')
  assert.match(secret, /^[0-9a-f]{64}\n$/)
  assert.match(await refused(8, 'secret_exists', 'hook', 'add', 'github', '--generate'), /stays as it is/)
  assert.equal(await readFile(file, 'utf8'), secret)
  assert.match(await refused(2, 'usage', 'hook', 'add', 'slack', '--generate'), /made by slack/)
  assert.match(
    await refused(2, 'usage', 'hook', 'add', 'generic', '--generate', '--env', 'X'),
    /--generate writes a file/,
  )
  const slack = await cairn('hook', 'add', 'slack', '--env', 'SLACK_SIGNING_SECRET')
  assert.match(slack.data, /secrets = \[\{ env = "SLACK_SIGNING_SECRET" \}\]\n$/)
  assert.ok(!slack.words.includes(SLACK_SECRET))
  const stripe = await cairn('hook', 'add', 'stripe', '--secret-file', path('stripe.secret'))
  assert.match(stripe.words, /… there is no secret in \S+\/stripe\.secret yet/)
  await writeFile(path('stripe.secret'), 'whsec_stripe\n')
  const standard = await told('hook', 'add', 'standard', '--generate')
  assert.match(await readFile(path('config/cairn/hooks/standard.secret'), 'utf8'), /^whsec_[\w+/]{43}=\n$/)
  const generic = await told('hook', 'add', 'generic', '--generate')
  const more = [
    'signature_prefix = "v="',
    'encoding = "base64"',
    'algorithm = "hmac-sha512"',
    'event_header = "x-event"',
  ]
  const signed = ['signed = "at:{timestamp}.{body}"', 'timestamp_header = "x-time"']
  const rules = [
    '{ provider = "github", event = "push", then = "mailbox:deploys" }',
    '{ provider = "slack", event = "*", then = "mailbox:chat" }',
  ]
  const own = ['[interop]', `rules = [${rules.join(', ')}]`, '[interop.mailbox]', 'max_deliveries = 2']
  // One that follows another is there for a while beside it.
  const former = `{ file = ${JSON.stringify(path('former.secret'))}, not_after = "2020-01-01T00:00:00Z" }, {`
  await writeFile(path('former.secret'), 'whsec_former\n')
  const sections = [github, slack.data, stripe.data.replace('{', former), standard, generic, ...more, ...signed, ...own]
  await writeFile(path('cairn.toml'), `${sections.join('\n')}\n`)
  await told('config', 'validate', path('cairn.toml'))
})

test('each provider is let in with its configured secret, and the test says what a rule made of it', async () => {
  node = await InnerNode.start({ data: path('.cairn'), config: path('cairn.toml'), environment })
  const topics = { github: 'github', slack: 'chat', stripe: 'stripe', standard: 'standard', generic: 'generic' }
  for (const [provider, topic] of Object.entries(topics)) {
    const { status, duplicate, effects, event } = await result('hook', 'test', provider)
    assert.deepEqual([provider, status, duplicate, event], [provider, 202, false, 'cairn.test'])
    const [{ effect, state }] = effects as [{ effect: string; state: string }]
    assert.deepEqual([effect, state], [`mailbox:${topic}`, 'ready'])
  }
  const push = await told('hook', 'test', 'github', '--event', 'push')
  assert.match(
    push,
    /^sent {4}push as github, \d+ B, signed with file:\S+\nstatus {2}202\nbody {4}b3:\S+\nbecame {2}mailbox:deploys {2}ready {2}[0-9a-f]{32}\n$/,
  )
})

test('a body from a file is sent byte for byte; a second time it is a duplicate, and nothing comes of it', async () => {
  await writeFile(path('push.json'), '{ "ref" : "refs/heads/main" }\n')
  const sent = await result('hook', 'test', 'github', path('push.json'), '--event', 'push')
  assert.deepEqual([sent['status'], sent['duplicate'], sent['bytes']], [202, false, 30])
  assert.equal(await told('get', String(sent['address'])), '{ "ref" : "refs/heads/main" }\n')
  const again = await told('hook', 'test', 'github', path('push.json'), '--event', 'push')
  assert.match(again, /status {2}202, a duplicate\n.*\nbecame {2}nothing: it was accepted before\n$/)
})

test('a secret the node does not have is refused as anybody’s would be, and no secret is ever shown', async () => {
  const other = { ...environment, SLACK_SIGNING_SECRET: 'another' }
  const wrong = await begin(['hook', 'test', 'slack'], other).ended
  assert.equal(wrong.code, 7)
  assert.match(wrong.data, /^sent {4}.*\nstatus {2}401 UNAUTH\n$/)
  assert.match(wrong.words, /^✖ The signature does not match the body\.\n {2}Next: {2}npx cairn hook ls --data \S+\n$/)
  const { SLACK_SIGNING_SECRET: _, ...without } = environment
  const none = await begin(['hook', 'test', 'slack'], without).ended
  assert.equal(none.code, 3, none.words)
  const list = await cairn('hook', 'ls')
  assert.equal(list.code, 0, list.words)
  assert.match(list.data, /^github {4}enabled {2}file:\S+ \(no end\) {2}accepted push \S+Z\n/)
  assert.match(
    list.data,
    /^stripe {4}enabled {2}file:\S+ \(ended 2020-01-01T00:00:00(?:\.000)?Z\), file:\S+ \(no end\) {2}accepted /m,
  )
  const texts = [list, wrong, none].map(({ data, words }) => data + words).join('')
  const secret = (await readFile(path('config/cairn/hooks/github.secret'), 'utf8')).trim()
  for (const each of [secret, SLACK_SECRET, 'whsec_']) assert.ok(!texts.includes(each))
})

test('a message is taken, given back, taken again and done; a receipt is good once', async () => {
  const [receipt = '', body = ''] = (await told('mailbox', 'lease', 'deploys')).split('  ')
  assert.match(receipt, RECEIPT)
  assert.equal((JSON.parse(body) as { event: string }).event, 'push')
  assert.match(await told('mailbox', 'peek', 'deploys'), /^[0-9a-f]{32} {2}leased {2}1 delivery {2}\S+Z {2}\{.*\}\n/)
  assert.equal(await told('mailbox', 'nack', 'deploys', receipt), '')
  const second = await result('mailbox', 'lease', 'deploys')
  assert.equal(second['attempt'], 2)
  assert.match(await refused(8, 'lease_lost', 'mailbox', 'ack', 'deploys', receipt), /Lease again/)
  assert.equal(await told('mailbox', 'ack', 'deploys', String(second['receipt'])), '')
  await refused(8, 'lease_lost', 'mailbox', 'ack', 'deploys', String(second['receipt']))
  await refused(2, 'usage', 'mailbox', 'ack', 'deploys', 'no-receipt')
})

test('what failed too often is a dead letter, and comes again under its id when it is replayed', async () => {
  for (let delivery = 1; delivery <= 2; delivery += 1) {
    const { receipt, attempt } = await result('mailbox', 'lease', 'deploys')
    assert.equal(attempt, delivery)
    await told('mailbox', 'nack', 'deploys', String(receipt))
  }
  const none = await refused(3, 'no_message', 'mailbox', 'lease', 'deploys', '--wait-for', '1s')
  assert.equal(none, 'There is no message to take in deploys, and none came in 1 s.')
  const { messages } = await result('mailbox', 'dead', 'deploys')
  const [{ id }] = messages as [{ id: string }]
  await refused(3, 'no_dead_letter', 'hook', 'replay', 'deploys', 'f'.repeat(32))
  const replayed = await cairn('hook', 'replay', 'deploys', id)
  assert.deepEqual([replayed.code, replayed.data], [0, ''])
  assert.match(replayed.words, /^✔ 1 dead letter of deploys put back\n/)
  assert.equal((await result('mailbox', 'lease', 'deploys'))['id'], id)
  assert.deepEqual(await result('mailbox', 'replay', 'deploys'), { topic: 'deploys', replayed: 0, asked: null })
})

test('messages are listed page by page', async () => {
  for (let count = 0; count < 2; count += 1) await told('hook', 'test', 'stripe', '-q')
  const { messages, cursor } = await result('mailbox', 'peek', 'stripe', '--limit', '2')
  assert.equal((messages as unknown[]).length, 2)
  const rest = await result('mailbox', 'peek', 'stripe', '--cursor', String(cursor))
  assert.deepEqual([(rest['messages'] as unknown[]).length, rest['cursor']], [1, null])
})

test('webhooks are followed as they come: accepted, duplicate, refused', async () => {
  const { terminal, ended } = begin(['hook', 'tail', '--limit', '3'])
  await terminal.spoken
  assert.equal(terminal.words, '… following; an interrupt ends it\n')
  await told('hook', 'test', 'github')
  await told('hook', 'test', 'github', path('push.json'), '--event', 'push')
  await begin(['hook', 'test', 'slack'], { ...environment, SLACK_SIGNING_SECRET: 'another' }).ended
  const { code, data } = await ended
  assert.equal(code, 0)
  const [accepted, duplicate, wrong] = data.split('\n')
  assert.match(accepted!, /^accepted {2}github {2}cairn\.test {2}\w+ {2}b3:\S+ {2}\w+$/)
  assert.match(duplicate!, /^accepted {2}github {2}duplicate {2}b3:\S+ {2}\w+$/)
  assert.match(wrong!, /^refused {2}slack {2}UNAUTH {2}- {2}\w+$/)
})

/** What the audit says of each webhook that came. */
async function decided(): Promise<readonly string[]> {
  const { lines } = await result('audit', '--cursor', '1')
  return (lines as { provider: string; decision: string; reason: string }[]).map(
    ({ provider, decision, reason }) => `${provider} ${decision} ${reason}`,
  )
}

test('the audit has a line for each of these, and holds', async () => {
  const before = await decided()
  const verified = await result('audit', 'verify')
  const after = await decided()
  for (const expected of ['github allow ', 'github allow duplicate', 'slack deny UNAUTH', 'generic allow '])
    assert.ok(after.includes(expected), expected)
  assert.deepEqual([verified['verdict'], verified['first']], ['sound', 1])
  // A line that was on its way may be written meanwhile.
  const count = Number(verified['count'])
  assert.ok(before.length <= count && count <= after.length, `${before.length} ≤ ${count} ≤ ${after.length}`)
})
