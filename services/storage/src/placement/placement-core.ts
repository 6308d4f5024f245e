/**
 * Where the copies of an object belong: the same answer on every node that knows the same targets.
 *
 *     rendezvous over nodes ─▶ the best of each region ─▶ the other nodes ─▶ further drives of this node
 *     rendezvous over drives ─▶ which drive of this node comes first
 *
 * Each target draws a number from the object's address and its own name, and the highest come first: a target that
 * comes or goes moves only the objects it wins or held. Weights make a win more likely in proportion.
 */
import { blake3 } from '@cairn/wire'
import type { TargetIdentity } from '../targets/target.ts'

type Placeable = Pick<TargetIdentity, 'id' | 'node' | 'region' | 'weight' | 'nodeWeight'>

/** Every target, the one a copy should be on first at the head. Targets beside it may share its failure domain. */
export function placementOrder<T extends Placeable>(object: string, targets: readonly T[]): T[] {
  const byNode = Map.groupBy(targets, ({ node }) => node)
  const nodes = [...byNode].map(([node, its]) => ({
    score: score(object, node, its[0]?.nodeWeight ?? 1),
    node,
    targets: byScore(
      its.map((target) => ({ target, score: score(object, target.id, target.weight), node: target.id })),
    ),
  }))
  const ranked = nodes.sort(better)
  const regions = new Set<string>()
  const [spread, rest]: [T[], T[]] = [[], []]
  for (const { targets: its } of ranked) {
    const [first] = its
    if (first === undefined) continue
    // The first node of each region comes before the second of any.
    if (regions.has(first.region)) rest.push(first)
    else spread.push(first)
    regions.add(first.region)
  }
  return [...spread, ...rest, ...ranked.flatMap(({ targets: its }) => its.slice(1))]
}

/** The first targets of the order that may be used, no two in one failure domain. */
export function chooseCopies<T extends Pick<TargetIdentity, 'domain'>>(
  order: readonly T[],
  copies: number,
  mayUse: (target: T) => boolean,
): T[] {
  const chosen: T[] = []
  const domains = new Set<string>()
  for (const target of order) {
    if (chosen.length === copies) break
    if (domains.has(target.domain) || !mayUse(target)) continue
    domains.add(target.domain)
    chosen.push(target)
  }
  return chosen
}

interface Scored {
  readonly score: number
  readonly node: string
}

function better(a: Scored, b: Scored): number {
  // Equal draws are as good as impossible, but every node must break them alike.
  return b.score - a.score || (a.node < b.node ? -1 : 1)
}

function byScore<T>(scored: readonly (Scored & { readonly target: T })[]): T[] {
  return [...scored].sort(better).map(({ target }) => target)
}

/** Weighted rendezvous: the draw u is even over (0, 1), and −w / ln u is highest with a chance in proportion to w. */
function score(object: string, name: string, weight: number): number {
  const digest = blake3(new TextEncoder().encode(`${object} ${name}`))
  const view = new DataView(digest.buffer, digest.byteOffset)
  const draw = (view.getUint32(0) * 2 ** 20 + (view.getUint32(4) >>> 12) + 0.5) / 2 ** 52
  return -weight / Math.log(draw)
}
