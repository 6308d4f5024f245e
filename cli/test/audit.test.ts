/** `audit` and `audit verify` against a stand-in: every way to spoil a trail is found, and what was not read is said. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { type AuditFacts, auditLineHash, encodeAuditLine, NO_LINE } from '@cairn/clients'
import { createAuditHeadLeaf } from '@cairn/names'
import { encodeEntryBundle } from '@cairn/tlog/testing'
import { type Address, addressOf } from '@cairn/wire'
import { FakeNode, problem } from './fake-node.ts'
import { SampleLog, sampleSigner } from './sample-log.ts'

const BODY = addressOf(new TextEncoder().encode('a body'))
const COUNT = 12

const FACTS: AuditFacts = {
  at: Date.UTC(2026, 0, 1),
  decision: 'allow',
  action: 'webhook',
  reason: '',
  provider: 'github',
  event: 'push',
  delivery: 'd',
  b3: BODY,
  secret: 'env:SECRET',
  corr_id: 'c',
}

interface Chain {
  readonly lines: string[]
  readonly heads: Address[]
}

function chain(count: number, change: (seq: number) => Partial<AuditFacts> = () => ({})): Chain {
  const made: Chain = { lines: [], heads: [] }
  for (let seq = 1; seq <= count; seq += 1) {
    const bytes = encodeAuditLine({ ...FACTS, ...change(seq), seq, prev: made.heads.at(-1) ?? NO_LINE })
    made.lines.push(new TextDecoder().decode(bytes))
    made.heads.push(auditLineHash(bytes))
  }
  return made
}

interface Envelope {
  readonly ok: boolean
  readonly result: Readonly<Record<string, unknown>>
  readonly next: readonly string[]
}

let node: FakeNode
let trail: Chain
let log: SampleLog
/** What is served in place of the trail. */
let lines: string[]
let first = 1

before(async () => {
  node = await FakeNode.open()
})
after(async () => await node[Symbol.asyncDispose]())
beforeEach(() => {
  trail = chain(COUNT)
  lines = [...trail.lines]
  first = 1
  log = new SampleLog([sampleSigner(1, 'alice')], 1)
  for (const count of [5, 10]) anchor(trail, count)
  node.services = ['interop', 'registry']
  node.replies.set('/audit', (query) => {
    const from = Math.max(Number(query.get('cursor') ?? first), first)
    const page = lines.slice(from - first, from - first + Number(query.get('limit')))
    const count = first - 1 + lines.length
    const told = { next: from + page.length, first, count, head: trail.heads.at(-1), anchored: 0, anchor: null }
    return { status: 200, body: { lines: page, ...told } }
  })
  node.replies.set('/log/checkpoint', () => ({ status: 200, body: log.checkpoint() }))
  serveEntries()
})

function anchor({ heads }: Chain, count: number): void {
  log.append(createAuditHeadLeaf(log.head, { head: heads[count - 1]!, count }))
}

function serveEntries(): void {
  const width = log.entries.length
  node.replies.set(`/log/tile/entries/000.p/${width}`, () => ({ status: 200, body: encodeEntryBundle(log.entries) }))
}

async function damage(): Promise<string> {
  const { code, data, words } = await node.run('audit', 'verify')
  assert.equal(code, 4, data + words)
  assert.match(data, /^verdict {2}damaged\nline {5}\d+ .*\n$/)
  return /^✖ The audit is damaged: (.*)\n$/.exec(words)?.[1] ?? words
}

test('a trail that holds says how far the registry vouches for it, and what was not checked', async () => {
  const { code, data, words } = await node.run('audit', 'verify')
  assert.equal(code, 0, words)
  assert.equal(
    data,
    [
      'verdict      sound',
      'lines        12 lines read, 1 to 12; each follows the one before it',
      'anchored     to 10 of 12, by 2 heads in the registry',
      `head         ${trail.heads.at(-1)}`,
      'not checked  the log of the registry itself: `cairn registry verify` does that',
      '',
    ].join('\n'),
  )
  assert.match(words, /^✔ anchored to 10 of 12\n {2}Next: {2}npx cairn registry verify /)
  const { result, ok } = JSON.parse((await node.run('audit', 'verify', '--json')).data) as Envelope
  assert.deepEqual(
    [ok, result['verdict'], result['first'], result['count'], result['anchored'], result['heads']],
    [true, 'sound', 1, 12, 10, 2],
  )
})

test('any line that was edited, dropped or moved is named, wherever it is', async () => {
  for (let at = 0; at < COUNT; at += 1) {
    lines = trail.lines.with(at, trail.lines[at]!.replace('"push"', '"pull"'))
    // The line itself still has its place; the one after it, or an anchor, or the head, says that it is another.
    assert.match(await damage(), new RegExp(`^line (?:${at + 1}|${at + 2}) `), `edited ${at + 1}`)
    lines = trail.lines.with(at, `${trail.lines[at]!} `)
    assert.equal(await damage(), `line ${at + 1} is not a line in its one form: it was edited.`)
  }
  for (let at = 1; at < COUNT - 1; at += 1) {
    lines = trail.lines.toSpliced(at, 1)
    assert.equal(await damage(), `line ${at + 1} is missing or out of order: line ${at + 2} stands there.`)
    lines = trail.lines.toSpliced(at, 2, trail.lines[at + 1]!, trail.lines[at]!)
    assert.equal(await damage(), `line ${at + 1} is missing or out of order: line ${at + 2} stands there.`)
  }
})

test('what was cut off at the end shows against the registry, or against the head', async () => {
  lines = trail.lines.slice(0, 8)
  assert.match(await damage(), /^line 9 is missing: the registry vouches for 10 lines\.$/)
  lines = trail.lines.slice(0, 11)
  assert.equal(await damage(), 'line 11 is not the one the service calls the head.')
})

test('a history written anew from the beginning is no match for any head the registry holds', async () => {
  const forged = chain(COUNT, (seq) => (seq === 3 ? { event: 'pull' } : {}))
  lines = forged.lines
  trail = forged
  assert.equal(await damage(), 'line 5 is not the line the registry vouches for.')
  anchor(forged, 5)
  serveEntries()
  assert.equal(await damage(), 'line 5 has two heads in the registry: the history was rewritten.')
})

test('lines that were let go of are not called read', async () => {
  first = 8
  lines = trail.lines.slice(7)
  const { code, data } = await node.run('audit', 'verify')
  assert.equal(code, 0)
  assert.match(data, /lines {8}5 lines read, 8 to 12;.*\nanchored {5}to 10 of 12/)
  assert.match(data, /not checked {2}lines before 8, which are not kept any more\n/)
})

test('a trail of which nothing is kept says that nothing was read; one that was emptied is damaged', async () => {
  first = COUNT + 1
  lines = []
  const { code, data } = await node.run('audit', 'verify')
  assert.equal(code, 0)
  assert.match(data, /lines {8}0 lines read\nanchored {5}to 0 of 12,.*\n.*\nnot checked {2}lines before 13,/)
  first = 1
  assert.equal(await damage(), 'line 1 is missing: the registry vouches for 10 lines.')
})

test('an empty trail is sound, as far as it goes', async () => {
  lines = []
  log = new SampleLog([sampleSigner(1, 'alice')], 1)
  serveEntries()
  const { code, data } = await node.run('audit', 'verify')
  assert.deepEqual([code, /lines {8}0 lines read\nanchored {5}to 0 of 0/.test(data)], [0, true], data)
})

test('without a registry, or with one that removed entries, the answer is partial, and says so', async () => {
  node.services = ['interop']
  const alone = await node.run('audit', 'verify')
  assert.equal(alone.code, 9)
  assert.match(alone.data, /anchored {5}to 0 of 12/)
  assert.match(alone.words, /^✖ The chain holds, anchored to 0 of 12, but .*: the registry could not be asked: /)
  node.services = ['interop', 'registry']
  const gone = problem(410, 'Pruned', 'Gone.')
  node.replies.set(`/log/tile/entries/000.p/${log.entries.length}`, () => gone)
  assert.equal((await node.run('audit', 'verify')).code, 9)
  lines = trail.lines.with(3, trail.lines[3]!.replace('"push"', '"pull"'))
  assert.equal((await node.run('audit', 'verify')).code, 4)
})

test('the newest lines are listed, or those from a cursor on; a damaged one is called so', async () => {
  lines = trail.lines.with(11, 'no line')
  const newest = await node.run('audit', '--limit', '2')
  assert.equal(
    newest.data,
    `11  2026-01-01T00:00:00.000Z  allow  webhook  github  push  -  ${BODY}\n?  damaged  "no line"\n`,
  )
  assert.match(newest.words, /^✔ 2 lines of 12\n {2}Next: {2}npx cairn audit verify /)
  const some = await node.run('audit', '--cursor', '3', '--limit', '2', '--json')
  const { result, next } = JSON.parse(some.data) as Envelope
  assert.deepEqual(
    [(result['lines'] as { seq: number }[]).map(({ seq }) => seq), result['first'], result['next'], result['count']],
    [[3, 4], 3, 5, 12],
  )
  assert.match(next[0]!, /^npx cairn audit .*--cursor 5$/)
  first = 20
  lines = trail.lines
  const old = await node.run('audit', '--cursor', '3')
  assert.match(old.words, /… lines before 20 are not here any more\n/)
  assert.equal((await node.run('audit', '--cursor', '0')).code, 2)
})

test('lines are followed as they come, an object each with --json', async () => {
  lines = trail.lines.slice(0, 2)
  const asked = node.whenAsked('GET /audit?limit=1&cursor=3')
  const followed = node.run('audit', '--follow', '--cursor', '1', '--limit', '3', '--json')
  await asked
  lines = trail.lines.slice(0, 3)
  const { code, data } = await followed
  assert.equal(code, 0)
  const seqs = data
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { result: { seq: number } }).result.seq)
  assert.deepEqual(seqs, [1, 2, 3])
})
