/** How safe everything is, as an operator is told: only what was looked at, and when. */
import { spellCount } from '@cairn/wire'
import type { StorageParts } from '../parts.ts'
import type { ObjectTarget } from '../targets/target.ts'

type Reported = Pick<StorageParts, 'drives' | 'scrubs' | 'placement' | 'replication' | 'repairs'>

export function durabilityReport({
  drives,
  scrubs,
  placement,
  replication,
  repairs,
}: Reported): Record<string, unknown> {
  const { objects, ...scrub } = scrubs.report()
  const states = drives.all.map((drive) => {
    if (drive.state.tag === 'failed') return { writable: false, why: drive.state.why, stalled: false }
    const { unready, isStalled } = drive.state.storage.facts()
    return { writable: unready === undefined, why: unready?.message ?? '', stalled: isStalled }
  })
  const facts = drives.open.map((drive) => drive.contents.storage.facts())
  const observed = replication === undefined ? scrubs.observedCopies() : replication.plan.last?.proved
  return {
    target_copies: placement.value?.copies ?? 0,
    observed_copies: observed ?? null,
    targets: placement.value?.targets ?? 0,
    objects,
    drive: states.find(({ writable }) => !writable) ?? states[0],
    catching_up: facts.some(({ isCatchingUp }) => isCatchingUp),
    damaged_segments: facts.flatMap(({ damagedSegments }) => damagedSegments),
    scrub,
    repairs: { pending: repairs.pending },
    ...(replication === undefined
      ? {}
      : { copies: replication.plan.last ?? null, places: replication.replicas.targets.map(place) }),
  }
}

function place(target: ObjectTarget): Record<string, unknown> {
  const { id, kind, node, domain, region } = target.identity
  const health = target.health()
  return { id, kind, node, domain, region, state: health.tag, why: health.tag === 'up' ? '' : health.why }
}

/** For the banner and `cairn status`. */
export function durabilityLine({ placement, replication }: Reported): string {
  if (replication === undefined) return 'copies: 1 (one drive)'
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
