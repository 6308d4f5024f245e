/**
 * `cairn audit verify`: the whole chain computed again, and held against what the registry holds of it. The registry is
 * read first: what it vouches for then must be in lines that are read later.
 */
import { type AuditAnchor, type AuditVerdict, sayLineRanges, verifyAudit } from '@cairn/clients'
import { CairnError } from '@cairn/kernel'
import { decodeLeaf } from '@cairn/names'
import { parseCheckpoint, parseNote, TILE_WIDTH } from '@cairn/tlog'
import { type Address, spellCount } from '@cairn/wire'
import { AUDIT_PAGE } from './audit.ts'
import type { CommandContext, Outcome, Run } from './command.ts'
import { type Interop, withInterop } from './interop-service.ts'
import { type Registry, withRegistry } from './registry-service.ts'
import { rows, sameFlags } from './registry-words.ts'

export const verify: Run = async (context) => {
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

async function readHeads({ client, call }: Registry): Promise<Anchors> {
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

async function readTrail({ client, call }: Interop): Promise<Trail> {
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

function outcomeOf({ given }: CommandContext, anchors: Anchors, trail: Trail, verdict: AuditVerdict): Outcome {
  const { missing } = anchors
  const flags = sameFlags(given)
  if (verdict.tag === 'broken') {
    const { seq, why } = verdict
    const error = new CairnError('Integrity', `The audit is damaged: line ${seq} ${why}.`, { code: 'audit_damaged' })
    const result = { verdict: 'damaged', seq, why, lines: trail.lines.length, count: trail.count }
    return {
      result,
      data: rows([
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
      : [`lines ${sayLineRanges(lost)}, which were lost and given up by \`cairn interop adopt\``]),
    ...(missing === undefined ? [] : [missing]),
    'the log of the registry itself: `cairn registry verify` does that',
  ]
  const data = rows([
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
