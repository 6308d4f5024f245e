/** `cairn audit`: what was let in and what was turned away, line by line. */
import {
  type AuditAnchor,
  type AuditLine,
  type AuditVerdict,
  decodeAuditLine,
  formatLineRanges,
  verifyAudit,
} from '@cairn/clients'
import { CairnError, SystemClock, sleep } from '@cairn/kernel'
import { decodeLeaf } from '@cairn/names'
import { parseCheckpoint, parseNote, TILE_WIDTH } from '@cairn/tlog'
import { type Address, spellCount } from '@cairn/wire'
import type { CommandContext, CommandHandler, CommandOutcome } from './command.ts'
import { type InteropConnection, withInterop } from './interop.ts'
import { limitOf } from './mailbox.ts'
import { connectionFlags, formatInstant, formatRows } from './registry-format.ts'
import { type RegistryConnection, withRegistry } from './registry-service.ts'
import { untilInterrupted } from './service-client.ts'
import { escapeControls } from './terminal-text.ts'

/*
 * `cairn audit verify`: the whole chain computed again, and held against what the registry holds of it. The registry is
 * read first: what it vouches for then must be in lines that are read later.
 */

export const verify: CommandHandler = async (context) => {
  const anchors = await readAnchors(context)
  const trail = await withInterop(context, readTrail)
  return outcomeOf(context, anchors, trail, judge(anchors, trail))
}

interface Anchors {
  readonly heads: readonly AuditAnchor[]
  /** Why nothing, or not everything, is known of what the registry vouches for. */
  readonly missing: string | undefined
}

/** Every head that is in the registry's log: not only the newest, so that a history that was rewritten shows. */
async function readAnchors(context: CommandContext): Promise<Anchors> {
  try {
    return await withRegistry(context, readHeads)
  } catch (error) {
    const isElsewhere = error instanceof CairnError && ['unreachable', 'timeout', 'not_ready'].includes(error.code)
    if (!isElsewhere) throw error
    return { heads: [], missing: `the registry could not be asked: ${error.message}` }
  }
}

async function readHeads({ client, call }: RegistryConnection): Promise<Anchors> {
  const { size } = parseCheckpoint(parseNote(await client.checkpoint(call())).text)
  const heads: AuditAnchor[] = []
  let pruned = 0
  for (let start = 0; start < size; start += TILE_WIDTH) {
    try {
      const entries = await client.entries(start / TILE_WIDTH, Math.min(TILE_WIDTH, size - start), call())
      for (const leaf of entries.map(decodeLeaf)) if (leaf.type === 'audit_head') heads.push(leaf.audit)
    } catch (error) {
      if (!(error instanceof CairnError) || error.status !== 410) throw error
      pruned = Math.min(size, start + TILE_WIDTH)
    }
  }
  return { heads, missing: pruned === 0 ? undefined : `the registry removed its entries below ${pruned}` }
}

interface Trail {
  readonly lines: readonly Uint8Array[]
  /** As the service tells it. */
  readonly count: number
  readonly head: Address
}

async function readTrail({ client, call }: InteropConnection): Promise<Trail> {
  const lines: Uint8Array[] = []
  let cursor: number | undefined
  let told: { readonly count: number; readonly head: Address } | undefined
  for (;;) {
    const page = await client.audit(cursor, AUDIT_PAGE, call())
    told ??= { count: page.count, head: page.head }
    // What came while this was read is for the next time.
    const isPast = page.next - 1 > told.count
    lines.push(...(isPast ? page.lines.slice(0, told.count - page.next) : page.lines))
    cursor = page.next
    if (page.lines.length === 0 || cursor > told.count) return { lines, ...told }
  }
}

function judge({ heads }: Anchors, { lines, count, head }: Trail): AuditVerdict {
  const seen = new Map<number, Address>()
  for (const anchor of heads) {
    const before = seen.get(anchor.count) ?? anchor.head
    if (before !== anchor.head)
      return { tag: 'broken', seq: anchor.count, why: 'has two heads in the registry: the history was rewritten' }
    seen.set(anchor.count, anchor.head)
  }
  if (lines.length === 0) return judgeNone(seen, count, head)
  const verdict = verifyAudit(lines, heads)
  if (verdict.tag === 'broken') return verdict
  if (verdict.count < count)
    return { tag: 'broken', seq: verdict.count + 1, why: `is missing: there were ${count} lines` }
  if (verdict.head !== head) return { tag: 'broken', seq: count, why: 'is not the one the service calls the head' }
  return verdict
}

/** Of lines that are not kept any more nothing can be said, but that there were as many as the registry vouches for. */
function judgeNone(heads: ReadonlyMap<number, Address>, count: number, head: Address): AuditVerdict {
  const furthest = Math.max(0, ...heads.keys())
  if (furthest > count)
    return { tag: 'broken', seq: count + 1, why: `is missing: the registry vouches for ${furthest} lines` }
  return { tag: 'sound', count, first: count + 1, anchored: 0, head, lost: [] }
}

function outcomeOf({ given }: CommandContext, anchors: Anchors, trail: Trail, verdict: AuditVerdict): CommandOutcome {
  const { missing } = anchors
  const flags = connectionFlags(given)
  if (verdict.tag === 'broken') {
    const { seq, why } = verdict
    const error = new CairnError('Integrity', `The audit is damaged: line ${seq} ${why}.`, { code: 'audit_damaged' })
    const result = { verdict: 'damaged', seq, why, lines: trail.lines.length, count: trail.count }
    return {
      result,
      data: formatRows([
        ['verdict', 'damaged'],
        ['line', `${seq} ${why}`],
      ]),
      error,
      next: [],
    }
  }
  const { first, anchored, head, lost } = verdict
  const { count } = trail
  const read = trail.lines.length
  const said = `anchored to ${anchored} of ${count}`
  const unchecked = [
    ...(first > 1 ? [`lines before ${first}, which are not kept any more`] : []),
    ...(lost.length === 0
      ? []
      : [`lines ${formatLineRanges(lost)}, which were lost and given up by \`cairn interop adopt\``]),
    ...(missing === undefined ? [] : [missing]),
    'the log of the registry itself: `cairn registry verify` does that',
  ]
  const data = formatRows([
    ['verdict', 'sound'],
    [
      'lines',
      `${spellCount(read, 'line')} read${read === 0 ? '' : `, ${first} to ${count}; each follows the one before it`}`,
    ],
    ['anchored', `${said.slice('anchored '.length)}, by ${spellCount(anchors.heads.length, 'head')} in the registry`],
    ['head', head],
    ['not checked', unchecked],
  ])
  const result = {
    verdict: 'sound',
    lines: read,
    first,
    count,
    anchored,
    heads: anchors.heads.length,
    head,
    lost: lost.map(({ first: from, last }) => [from, last]),
    not_checked: unchecked,
  }
  if (missing === undefined) return { result, data, message: said, next: [`npx cairn registry verify${flags}`] }
  const detail = `The chain holds, ${said}, but not everything could be held against the registry: ${missing}.`
  return {
    result,
    data,
    error: new CairnError('Integrity', detail, { code: 'partial' }),
    next: [`npx cairn status${flags}`],
  }
}

/** What one request may ask for. */
export const AUDIT_PAGE = 1000
const LIMIT_DEFAULT = 100
const POLL_MS = 500

type Printed = Readonly<{ seq: number | null; text: string; result: unknown }>

export const audit: CommandHandler = async (context) => {
  const { given } = context
  const cursor = cursorOf(given.text('cursor'))
  const limit = limitOf(given.text('limit'), given.has('follow') ? Number.POSITIVE_INFINITY : LIMIT_DEFAULT)
  return await withInterop(context, async (interop) => {
    const from = cursor ?? (await newest(interop, Math.min(limit, LIMIT_DEFAULT)))
    if (given.has('follow')) return await follow(context, interop, from, limit)
    return await list(context, interop, from, limit)
  })
}

function cursorOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new CairnError('Malformed', `--cursor is the number of a line; not ${text}.`, { code: 'usage' })
}

/** The first of the last so many lines. */
async function newest({ client, call }: InteropConnection, count: number): Promise<number> {
  const page = await client.audit(undefined, 1, call())
  return Math.max(page.first, page.count - count + 1)
}

async function list(
  { given, terminal }: CommandContext,
  { client, call }: InteropConnection,
  from: number,
  limit: number,
) {
  const kept: unknown[] = []
  let [cursor, count, total] = [from, 0, 0]
  let first = from
  while (count < limit) {
    const page = await client.audit(cursor, Math.min(AUDIT_PAGE, limit - count), call())
    const lines = page.lines.map(printed)
    if (given.has('json')) kept.push(...lines.map(({ result }) => result))
    else terminal.write(lines.map(({ text }) => `${escapeControls(text)}\n`).join(''))
    if (count === 0) first = page.next - page.lines.length
    count += page.lines.length
    cursor = page.next
    total = page.count
    if (page.lines.length === 0 || cursor > total) break
  }
  const isMore = cursor <= total
  const flags = connectionFlags(given)
  return {
    result: { lines: kept, first, next: cursor, count: total },
    message: `${spellCount(count, 'line')} of ${total}`,
    warnings: first > from && from > 0 ? [`lines before ${first} are not here any more`] : [],
    next: isMore ? [`npx cairn audit${flags} --cursor ${cursor}`] : [`npx cairn audit verify${flags}`],
  }
}

/** Lines as they come, until there were enough or somebody interrupts. */
async function follow(context: CommandContext, { client, call }: InteropConnection, from: number, limit: number) {
  const { given, terminal, print } = context
  const clock = new SystemClock()
  return await untilInterrupted(async (signal) => {
    let [cursor, left] = [from, limit]
    for (;;) {
      const page = await client.audit(cursor, Math.min(AUDIT_PAGE, left), { ...call(), signal })
      for (const { text, result } of page.lines.map(printed)) {
        if (given.has('json')) print({ result })
        else terminal.write(`${escapeControls(text)}\n`)
      }
      cursor = page.next
      left -= page.lines.length
      if (left <= 0) return 0
      if (page.lines.length === 0) await sleep(clock, POLL_MS, { signal })
    }
  })
}

/** A line in words and as an object; one that was edited is shown as it is, and called so. */
function printed(bytes: Uint8Array): Printed {
  try {
    const line = decodeAuditLine(bytes)
    return { seq: line.seq, text: formatAuditLine(line), result: { ...line, at: formatInstant(line.at) } }
  } catch {
    const raw = new TextDecoder().decode(bytes)
    return { seq: null, text: `?  damaged  ${JSON.stringify(raw)}`, result: { damaged: raw } }
  }
}

function formatAuditLine({ seq, at, decision, action, provider, event, reason, b3 }: AuditLine): string {
  return [seq, formatInstant(at), decision, action, provider || '-', event || '-', reason || '-', b3 ?? '-'].join('  ')
}
