/** How safe everything is, as an operator is told: only what was looked at, and when. */
import type { StoreFacts } from '@cairn/store'
import { spellCount } from '@cairn/wire'
import type { StorageParts } from '../parts.ts'
import type { LocalDrive } from '../targets/local-drive.ts'
import type { ObjectTarget } from '../targets/target.ts'

const DAMAGED = 'their side file was damaged'

type Reported = Pick<StorageParts, 'drives' | 'scrubs' | 'placement' | 'replication' | 'repairs' | 'statements'>

export function durabilityReport({
  drives,
  scrubs,
  placement,
  replication,
  repairs,
  statements,
}: Reported): Record<string, unknown> {
  const scrub = scrubs.report()
  const states = drives.all.map((drive) => {
    if (drive.state.tag === 'failed') return { writable: false, why: drive.state.why, stalled: false }
    const { unready, isStalled } = drive.state.storage.facts()
    return { writable: unready === undefined, why: unready?.message ?? '', stalled: isStalled }
  })
  const facts = drives.open.map((drive) => drive.contents.storage.facts())
  const observed = replication.replicas.isAlone ? scrubs.observedCopies() : replication.plan.last?.proved
  return {
    target_copies: placement.value?.copies ?? 0,
    observed_copies: observed ?? null,
    key: statements.key,
    targets: placement.value?.targets ?? 0,
    objects: scrub.objects,
    drive: states.find(({ writable }) => !writable) ?? states[0],
    catching_up: facts.some(({ isCatchingUp }) => isCatchingUp),
    index: indexLines(facts),
    damaged_segments: facts.flatMap(({ damagedSegments }) => damagedSegments),
    collection: { blocked_by: drives.open.map(blockedBy).find((why) => why !== undefined) ?? null },
    scrub,
    repairs: { pending: repairs.pending },
    ...(replication.replicas.isAlone
      ? {}
      : { copies: replication.plan.last ?? null, places: replication.replicas.targets.map(place) }),
  }
}

/** What `/readyz` says beside the conditions: everything is served, and less of it would survive than was asked for. */
export function durabilityFields(parts: Pick<Reported, 'replication' | 'drives'>): Readonly<Record<string, unknown>> {
  return { ...copiesFields(parts), ...noticesOf(parts.drives) }
}

/** Nothing that is served suffers from these, and an operator wants to know. */
function noticesOf(drives: Reported['drives']): Readonly<Record<string, string>> {
  const held = drives.open.map(blockedBy).find((why) => why !== undefined)
  const facts = drives.open.map((drive) => drive.contents.storage.facts().index)
  const scanned = facts.reduce((all, { scannedDamaged }) => all + scannedDamaged, 0)
  const segments = facts.reduce((all, index) => all + index.segments, 0)
  return {
    ...(held === undefined ? {} : { collection_notice: `No garbage is collected: ${held}` }),
    ...(scanned === 0 ? {} : { index_notice: scannedLine(scanned, segments, DAMAGED) }),
  }
}

function copiesFields({ replication }: Pick<Reported, 'replication'>): Readonly<Record<string, unknown>> {
  if (replication.replicas.isAlone) return {}
  const down = replication.replicas.targets.flatMap((target) => {
    const health = target.health()
    return health.tag === 'up' ? [] : [`${target.identity.id} is not up (${health.why})`]
  })
  const { last } = replication.plan
  const lacking = last === undefined ? 0 : last.under + last.single + last.lost
  const few =
    lacking === 0 ? [] : [`${spellCount(lacking, 'object')} ${lacking === 1 ? 'has' : 'have'} fewer copies than wanted`]
  const found = [...down, ...few]
  return found.length === 0 ? {} : { degraded: true, copies_problem: `${found.join('; ')}.` }
}

/** What was unusual about how the index came to be at this start, in sentences. */
function indexLines(facts: readonly StoreFacts[]): string[] {
  const sum = (of: (index: StoreFacts['index']) => number): number =>
    facts.reduce((all, { index }) => all + of(index), 0)
  const segments = sum((index) => index.segments)
  const why = [
    [sum((index) => index.scannedDamaged), DAMAGED],
    [sum((index) => index.scannedMissing), 'they had no side file'],
  ] as const
  const scans = why.filter(([count]) => count > 0)
  const mended = sum((index) => index.mended)
  return [
    ...scans.map(([count, because]) => scannedLine(count, segments, because)),
    ...(mended === 0 ? [] : [`index: ${spellCount(mended, 'answer')} disagreed with the journal and put right`]),
  ]
}

function scannedLine(count: number, segments: number, because: string): string {
  return `index: ${count} of ${segments} segments were scanned because ${because}`
}

/** Why this drive's garbage stays, in a sentence. */
function blockedBy({ contents }: LocalDrive): string | undefined {
  return contents.storage.sweeper.facts().blockedBy
}

function place(target: ObjectTarget): Record<string, unknown> {
  const { id, kind, node, domain, region } = target.identity
  const health = target.health()
  return { id, kind, node, domain, region, state: health.tag, why: health.tag === 'up' ? '' : health.why }
}

/** For the banner and `cairn status`. */
export function durabilityLine(parts: Reported): string {
  const why = parts.drives.open.map(blockedBy).find((each) => each !== undefined)
  return why === undefined ? copiesLine(parts) : `${copiesLine(parts)}, no garbage is collected: ${why}`
}

function copiesLine({ placement, replication }: Reported): string {
  if (replication.replicas.isAlone) return 'copies: 1 (one drive)'
  const { targets, copies } = replication.replicas
  const down = targets.filter((target) => target.health().tag !== 'up').length
  const { erasure } = replication
  const { last } = replication.plan
  const lacking = last === undefined ? undefined : last.under + last.single + last.lost
  return [
    erasure === undefined
      ? `copies: ${placement.value?.copies ?? copies} on ${targets.length} targets`
      : `shards: ${erasure.code.k}+${erasure.code.m} on ${targets.length} drives`,
    ...(down === 0 ? [] : [`${down} of them not up`]),
    ...(lacking === undefined || lacking === 0 ? [] : [`${spellCount(lacking, 'object')} with fewer`]),
    ...(last === undefined || last.lost === 0 ? [] : [`${last.lost} of them cannot be read`]),
    last === undefined || last.proved === null ? 'none proved yet' : `${last.proved} proved`,
  ].join(', ')
}
