/**
 * Senders of signed webhooks, some of which send again or forge, and consumers of what comes of them; at every node.
 *
 *     push    ──▶ node's interop ──▶ body in storage, message in its mailbox ──▶ leased, acknowledged
 *     release ──▶ node's interop ──▶ body in storage, a proposal at the one registry, wherever that is
 *
 * What holds: each 202 has its effect exactly once, what was not answered has it once or not at all, a message that was
 * acknowledged never comes again; the audit says the same and the registry vouches for it; bodies can be read anywhere.
 */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { decodeAuditLine } from '@cairn/clients'
import { type Random } from '@cairn/kernel'
import { SeededRandom } from '@cairn/kernel/testing'
import { decodeLeaf } from '@cairn/names'
import { addressOf } from '@cairn/wire'
import type { Answer, ServiceName } from '../answer.ts'
import type { Cluster } from '../cluster.ts'
import { bodyOf, type Hook, type HookEvent, holdNode, type NodeWords } from '../oracles/interop-oracle.ts'
import { readEntries } from '../oracles/registry-log.ts'
import { WRITER } from '../settings.ts'
import type { SimNode } from '../sim-node.ts'
import { Tally } from '../tally.ts'
import type { Workload } from '../workload.ts'
import { eventually } from './eventually.ts'
import { type Outcome, outcomeOf } from './outcome.ts'

const SECRET = 'a secret of the cluster'
const SECRET_FILE = 'github.secret'
const TOPIC = 'cluster'
const PROPOSE_TOPIC = '@propose'
const NAME = 'release@1'
const PAGE = 1000
const VISIBILITY_SECONDS = 1
/** Of a consumer that waits for whatever comes next. */
const WAIT_SECONDS = VISIBILITY_SECONDS + 1

interface Leased {
  readonly message: { readonly id: string; readonly body: { readonly delivery: string } }
  readonly receipt: { readonly id: string; readonly attempt: number; readonly nonce: string }
}

interface Page {
  readonly messages: readonly { readonly id: string; readonly body: { readonly delivery: string } }[]
}

interface AuditPage {
  readonly lines: readonly string[]
  readonly count: number
  readonly anchor: { readonly head: string; readonly count: number; readonly log_index: number } | null
}

export class InteropWorkload implements Workload {
  readonly service = 'interop'
  readonly tally = new Tally()
  readonly settings = {
    interop: {
      providers: { github: { enabled: true, secrets: [{ file: SECRET_FILE }] } },
      rules: [ruleOf('push', `mailbox:${TOPIC}`), ruleOf('release', `propose:${NAME}`)],
      mailbox: { visibility: `${VISIBILITY_SECONDS}s`, max_deliveries: 100 },
      audit: { anchor_interval: '5s' },
    },
  }
  readonly files = { [SECRET_FILE]: Buffer.from(`${SECRET}\n`) }
  readonly #hooks: Hook[] = []
  /** Journals that were lost, by node. */
  readonly #losses = new Map<string, number>()
  /** Bodies that `/put` took. */
  readonly #stored: Buffer[] = []

  async operate(cluster: Cluster, random: Random): Promise<void> {
    this.tally.operations += 1
    const dice = random.next()
    const outcome = await this.#act(cluster, random, dice)
    this.tally[outcome] += 1
  }

  /** Their senders were answered, or gave up: they do not send again. */
  lose(service: ServiceName, node: string): void {
    if (service !== this.service) return
    for (const hook of this.#hooks) if (hook.node === node) hook.isLost = true
    this.#losses.set(node, (this.#losses.get(node) ?? 0) + 1)
  }

  /** All is well: whatever is sent now is taken, and what waited for the registry gets there. */
  async settle(cluster: Cluster): Promise<void> {
    for (const node of cluster.nodes) {
      for (const event of ['push', 'release'] as const) {
        const hook = this.#hookFor(node, event)
        const isTaken = async () => (await this.#post(cluster, hook)) === 'acknowledged'
        await eventually(cluster, `${node.name} takes no webhook`, isTaken)
      }
      await this.#ask(cluster, node, 'POST', `/mailbox/${PROPOSE_TOPIC}/replay`, {})
    }
    for (const node of cluster.nodes) {
      const isEmpty = async () => (await this.#waiting(cluster, node, PROPOSE_TOPIC)).length === 0
      await eventually(cluster, `${node.name} has proposals to make`, isEmpty)
      const isAnchored = async () => (await this.#audit(cluster, node)).anchor !== null
      await eventually(cluster, `the audit of ${node.name} is not anchored`, isAnchored)
    }
    await this.#drain(cluster, pick(cluster.nodes, new SeededRandom(cluster.world.seed)) ?? cluster.node(WRITER))
  }

  async check(cluster: Cluster): Promise<void> {
    // Before the log is read: what is anchored meanwhile would not be in it.
    const audits = new Map<string, AuditPage>()
    for (const node of cluster.nodes) audits.set(node.name, await this.#audit(cluster, node))
    const entries = await readEntries(async (path) => await this.#get(cluster, cluster.node(WRITER), path, 'registry'))
    const leaves = entries.map(decodeLeaf)
    const proposals = leaves.flatMap((leaf) => (leaf.type === 'proposal' ? releasedBy(leaf.payload) : []))
    for (const node of cluster.nodes) {
      const hooks = this.#hooks.filter((hook) => hook.node === node.name)
      const audit = audits.get(node.name) ?? assert.fail(`${node.name} has no audit`)
      const waiting = await this.#waiting(cluster, node, TOPIC)
      const words: NodeWords = {
        node: node.name,
        waiting,
        auditLines: audit.lines,
        losses: this.#losses.get(node.name) ?? 0,
      }
      const names = new Set(hooks.map(({ name }) => name))
      holdNode(
        hooks,
        words,
        proposals.filter((name) => names.has(name)),
      )
      this.#holdAnchor(node, audit, leaves)
    }
    const known = new Set(this.#hooks.map(({ name }) => name))
    for (const name of proposals) assert.ok(known.has(name), `${name} was proposed, and nobody sent it`)
    await this.#holdBodies(cluster)
    assert.ok(
      this.#hooks.some(({ isAccepted }) => isAccepted),
      'no webhook was accepted',
    )
  }

  async #act(cluster: Cluster, random: Random, dice: number): Promise<Outcome> {
    const node = cluster.someNode('interop', random)
    if (dice < 0.35) return await this.#post(cluster, this.#hookFor(node, random.next() < 0.7 ? 'push' : 'release'))
    // The same again: because no answer came, or in spite of one, or while the first is under way.
    if (dice < 0.55) return await this.#post(cluster, pick(this.#living(), random) ?? this.#hookFor(node, 'push'))
    if (dice < 0.6) return await this.#post(cluster, this.#hookFor(node, 'push', true))
    if (dice < 0.7) return await this.#put(cluster, node, random)
    return await this.#consume(cluster, node, random)
  }

  #living(): Hook[] {
    return this.#hooks.filter(({ isLost }) => !isLost)
  }

  #hookFor(node: SimNode, event: HookEvent, isForged = false): Hook {
    const name = `hook-${this.#hooks.length + 1}`
    const untold = { isAccepted: false, isAckAsked: false, isAcked: false, isLost: false }
    const hook: Hook = { name, node: node.name, event, isForged, ...untold, messages: new Set() }
    this.#hooks.push(hook)
    return hook
  }

  async #post(cluster: Cluster, hook: Hook): Promise<Outcome> {
    const body = bodyOf(hook)
    const signature = createHmac('sha256', hook.isForged ? 'a guess' : SECRET)
      .update(body)
      .digest('hex')
    const headers = {
      'content-type': 'application/json',
      'x-github-event': hook.event,
      'x-github-delivery': hook.name,
      'x-hub-signature-256': `sha256=${signature}`,
    }
    const wasAccepted = hook.isAccepted
    const options = { body, headers, token: null }
    const answer = await cluster.send(cluster.node(hook.node), 'interop', 'POST', '/webhooks/github', options)
    const outcome = outcomeOf(hook.name, answer, hook.isForged ? [] : [202], hook.isForged ? ['401 UNAUTH'] : [])
    if (outcome !== 'acknowledged') return outcome
    const { address, duplicate = false } = answer.json() as { address: string; duplicate?: boolean }
    assert.equal(address, addressOf(body))
    if (wasAccepted) assert.ok(duplicate, `${hook.name} was accepted twice`)
    hook.isAccepted = true
    return outcome
  }

  async #put(cluster: Cluster, node: SimNode, random: Random): Promise<Outcome> {
    const body = Buffer.from(random.bytes(40))
    const headers = { 'content-type': 'application/octet-stream' }
    const answer = await cluster.send(node, 'interop', 'POST', '/put', { body, headers })
    const outcome = outcomeOf('put', answer, [202])
    if (outcome !== 'acknowledged') return outcome
    assert.equal((answer.json() as { address: string }).address, addressOf(body))
    this.#stored.push(body)
    return outcome
  }

  async #consume(cluster: Cluster, node: SimNode, random: Random): Promise<Outcome> {
    const { outcome, hook, receipt } = await this.#lease(cluster, node)
    const dice = random.next()
    // Some consumers die with their message, some give it back.
    if (hook === undefined || receipt === undefined || dice < 0.15) return outcome
    const verb = dice < 0.3 ? 'nack' : 'ack'
    if (verb === 'ack') hook.isAckAsked = true
    const done = await this.#ask(cluster, node, 'POST', `/mailbox/${TOPIC}/${receipt.id}/${verb}`, receipt)
    const settled = outcomeOf(verb, done, [204], ['409 lease_lost'])
    if (verb === 'ack' && settled === 'acknowledged') hook.isAcked = true
    return settled
  }

  /** A message that nobody else has: of a webhook that was sent there, always the same one, and never after its end. */
  async #lease(
    cluster: Cluster,
    node: SimNode,
    waitSeconds = 0,
  ): Promise<{ readonly outcome: Outcome; readonly hook?: Hook; readonly receipt?: Leased['receipt'] }> {
    const acked = new Set(this.#hooks.filter(({ isAcked }) => isAcked))
    const path = `/mailbox/${TOPIC}/lease${waitSeconds === 0 ? '' : `?wait=${waitSeconds}`}`
    const options = waitSeconds === 0 ? {} : { timeoutMs: 2000 * waitSeconds }
    const answer = await cluster.send(node, 'interop', 'POST', path, options)
    const outcome = outcomeOf('lease', answer, [200, 204])
    if (outcome !== 'acknowledged' || answer.status === 204) return { outcome }
    const { message, receipt } = answer.json() as Leased
    const { delivery } = message.body
    const hook = this.#hooks.find(({ name }) => name === delivery)
    assert.ok(
      hook !== undefined && hook.node === node.name && hook.event === 'push' && !hook.isForged,
      `${delivery} came from nowhere`,
    )
    assert.ok(!hook.isLost, `${delivery} was lost and came again`)
    assert.ok(!acked.has(hook), `${delivery} was acknowledged and came again`)
    hook.messages.add(message.id)
    assert.equal(hook.messages.size, 1, `${delivery} became two messages`)
    return { outcome, hook, receipt }
  }

  /** All is well: what waits at a node is handed out, the first message twice because its first consumer dies with it. */
  async #drain(cluster: Cluster, node: SimNode): Promise<void> {
    const { length } = await this.#waiting(cluster, node, TOPIC)
    for (let handedOut = 0; handedOut <= length; handedOut += 1) {
      const { hook, receipt } = await this.#lease(cluster, node, WAIT_SECONDS)
      assert.ok(
        hook !== undefined && receipt !== undefined,
        `${node.name} hands out ${handedOut} of ${length} messages`,
      )
      if (handedOut === 0) continue
      hook.isAckAsked = true
      const { status } = await this.#ask(cluster, node, 'POST', `/mailbox/${TOPIC}/${receipt.id}/ack`, receipt)
      assert.equal(status, 204, `${hook.name} cannot be acknowledged`)
      hook.isAcked = true
    }
  }

  async #waiting(cluster: Cluster, node: SimNode, topic: string): Promise<NodeWords['waiting']> {
    const pages = ['', '/dead'].map(
      async (list) => (await this.#get(cluster, node, `/mailbox/${topic}${list}?limit=${PAGE}`)).json() as Page,
    )
    return (await Promise.all(pages)).flatMap(({ messages }) =>
      messages.map(({ id, body }) => ({ id, delivery: body.delivery })),
    )
  }

  async #audit(cluster: Cluster, node: SimNode): Promise<AuditPage> {
    return (await this.#get(cluster, node, `/audit?limit=${PAGE}`)).json() as AuditPage
  }

  /** The registry holds the very head that the node says it does. */
  #holdAnchor({ name }: SimNode, { anchor, lines }: AuditPage, leaves: readonly ReturnType<typeof decodeLeaf>[]): void {
    assert.ok(anchor !== null, `the audit of ${name} was never anchored`)
    const leaf = leaves[anchor.log_index]
    assert.ok(leaf?.type === 'audit_head', `the registry does not hold the anchor of ${name}`)
    const { head, count } = leaf.audit
    assert.deepEqual({ head, count }, { head: anchor.head, count: anchor.count })
    assert.equal(
      addressOf(Buffer.from(lines.find((line) => seqOf(line) === anchor.count) ?? '')),
      anchor.head,
      `the audit of ${name} was changed`,
    )
  }

  /** Each from another node than the one that took it. */
  async #holdBodies(cluster: Cluster): Promise<void> {
    const bodies = this.#hooks.filter(({ isAccepted }) => isAccepted).map(bodyOf)
    for (const [at, body] of [...bodies, ...this.#stored].entries()) {
      const node = cluster.nodes[at % cluster.nodes.length] ?? cluster.node(WRITER)
      const answer = await this.#get(cluster, node, `/o/${addressOf(body)}`, at % 2 === 0 ? 'storage' : 'interop')
      assert.ok(answer.body.equals(body), `${node.name} has other bytes`)
    }
  }

  async #ask(cluster: Cluster, node: SimNode, method: string, path: string, body?: object): Promise<Answer> {
    return await cluster.send(node, 'interop', method, path, body === undefined ? {} : { body })
  }

  /** While all is well: a breaker that is still open is waited for. */
  async #get(cluster: Cluster, node: SimNode, path: string, service: ServiceName = 'interop'): Promise<Answer> {
    let answer: Answer | undefined
    const isAnswered = async (): Promise<boolean> => {
      answer = await cluster.send(node, service, 'GET', path)
      return outcomeOf(path, answer, [200]) === 'acknowledged'
    }
    await eventually(cluster, `${node.name} does not answer ${path}`, isAnswered)
    return answer ?? assert.fail('nobody was asked')
  }
}

function ruleOf(event: HookEvent, effect: string) {
  // oxlint-disable-next-line unicorn/no-thenable -- a word of the configuration
  return { provider: 'github', event, then: effect }
}

/** The delivery that a proposal was made of, if it was. */
function releasedBy(payload: { readonly note?: string } | undefined): string[] {
  const [, delivery] = /^github release (hook-\d+)$/.exec(payload?.note ?? '') ?? []
  return delivery === undefined ? [] : [delivery]
}

function seqOf(line: string): number {
  return decodeAuditLine(Buffer.from(line)).seq
}

function pick<T>(from: readonly T[], random: Random): T | undefined {
  return from[Math.floor(random.next() * from.length)]
}
