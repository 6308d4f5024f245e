/**
 * What senders and consumers of webhooks did and were told.
 *
 *     sent ──▶ accepted (202) ──▶ its one effect: a message, leased ──▶ acknowledged, never again
 *       │                                         or a proposal at the registry
 *       └──▶ no answer: whole or not at all
 */
import assert from 'node:assert/strict'
import { decodeAuditLine, formatLineRanges, verifyAudit } from '@cairn/clients'
import { addressOf } from '@cairn/wire'

export type HookEvent = 'push' | 'release'

export interface Hook {
  /** What the provider calls the delivery. */
  readonly name: string
  /** Where it is sent, each time. */
  readonly node: string
  readonly event: HookEvent
  /** Somebody else's signature: nothing may come of it. */
  readonly isForged: boolean
  isAccepted: boolean
  /** Somebody asked for it to be acknowledged, or was told that it is. */
  isAckAsked: boolean
  isAcked: boolean
  /** It was sent before the node lost its journal: nothing of it is there any more. */
  isLost: boolean
  /** Messages that anybody was given for it. */
  readonly messages: Set<string>
}

/** What a node says in the end. */
export interface NodeWords {
  readonly node: string
  /** Messages that wait or are dead: what they are of, and their ids. */
  readonly waiting: readonly { readonly delivery: string; readonly id: string }[]
  readonly auditLines: readonly string[]
  /** How many times it lost its journal. */
  readonly losses: number
}

export function bodyOf({ name, event }: Pick<Hook, 'name' | 'event'>): Buffer {
  return Buffer.from(`{"${event}":"${name}"}`)
}

/** Holds a node to what was told about the hooks that were sent there; `proposals` has an entry for each that was made. */
export function holdNode(hooks: readonly Hook[], words: NodeWords, proposals: readonly string[]): void {
  const allowed = auditOf(words)
  const here = countBy(words.waiting.map(({ delivery }) => delivery))
  const proposed = countBy(proposals)
  const sent = new Set(hooks.map(({ name }) => name))
  for (const { delivery, id } of words.waiting) {
    assert.ok(sent.has(delivery), `${words.node} has a message of ${delivery}, which nobody sent there`)
    hooks.find(({ name }) => name === delivery)?.messages.add(id)
  }
  for (const hook of hooks) {
    const { name, event, isAccepted, isForged } = hook
    const lines = allowed.get(name) ?? 0
    if (hook.isLost) {
      assert.equal(lines + (here.get(name) ?? 0), 0, `${name} was lost at ${words.node}, and is back`)
      assert.ok((proposed.get(name) ?? 0) <= (event === 'release' && !isForged ? 1 : 0), `${name} was proposed`)
      continue
    }
    assert.ok(lines <= 1, `${name} was taken ${lines} times, by the audit of ${words.node}`)
    if (isAccepted) assert.equal(lines, 1, `${name} was accepted, and the audit of ${words.node} does not know it`)
    if (isForged) assert.equal(lines, 0, `${name} was forged, and taken`)
    holdEffect(hook, lines === 1, { here: here.get(name) ?? 0, proposed: proposed.get(name) ?? 0 })
  }
}

function holdEffect(hook: Hook, isTaken: boolean, count: { readonly here: number; readonly proposed: number }): void {
  const { name, event, isAckAsked, isAcked, messages } = hook
  if (event === 'release') {
    assert.equal(count.proposed, isTaken ? 1 : 0, `${name} has ${count.proposed} proposals`)
    assert.equal(messages.size, 0, `${name} is a message`)
    return
  }
  assert.ok(count.here <= 1 && messages.size <= 1, `${name} became ${messages.size} messages, ${count.here} wait`)
  if (isAcked) assert.equal(count.here, 0, `${name} was acknowledged and is back`)
  if (!isTaken) assert.equal(messages.size, 0, `${name} became a message, and was never taken`)
  else assert.ok(count.here === 1 || isAckAsked, `${name} was taken, and its message is lost`)
}

/** How often each delivery was taken for the first time, by a chain that is whole. */
function auditOf({ node, auditLines, losses }: NodeWords): Map<string, number> {
  const bytes = auditLines.map((line) => Buffer.from(line))
  const verdict = verifyAudit(bytes, [])
  assert.equal(verdict.tag, 'sound', `the audit of ${node}: ${JSON.stringify(verdict)}`)
  const decoded = bytes.map(decodeAuditLine)
  const [first] = decoded
  // Of each loss a line speaks, the last of them is there, and all lines from it on.
  const adoptions = decoded.filter(({ action }) => action === 'adopt').length
  assert.equal(adoptions, Math.min(losses, 1), `${node} lost its journal ${losses} times, and speaks of ${adoptions}`)
  const isSaid = first?.action === 'adopt' && first.delivery === formatLineRanges([{ first: 1, last: first.seq - 1 }])
  assert.ok(
    losses > 0 ? isSaid : (first?.seq ?? 1) === 1,
    `the audit of ${node} begins at ${first?.seq}: ${first?.action} ${first?.delivery}`,
  )
  const lines = decoded.filter(({ action, decision }) => action === 'webhook' && decision === 'allow')
  for (const { reason, delivery, event, b3 } of lines) {
    if (reason === '') assert.equal(b3, addressOf(bodyOf({ name: delivery, event: event as HookEvent })))
  }
  return countBy(lines.filter(({ reason }) => reason === '').map(({ delivery }) => delivery))
}

function countBy(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}
