/** What clients of the registry asked for and were told, in the order it happened; and whether the log agrees. */
import assert from 'node:assert/strict'
import { type Head, type Item, isLive, itemHash } from '@cairn/names'
import type { VersionSummary } from '../../../services/registry/src/domain/ledger.ts'
import { checkLinearizable, type Operation } from '../../linear/checker.ts'
import type { LoggedVersion, ReadLog, SeenCheckpoint } from './registry-log.ts'
import { headText, NOTHING, type RegistryCall, registrySpec } from './registry-spec.ts'

interface Proposed {
  readonly items: readonly Item[]
  /** When somebody first asked for its commit. */
  askedAt: number | undefined
  /** The first answer to it, and when that was. */
  told: { readonly facts: VersionSummary; readonly at: number } | undefined
  /** Somebody heard that others were faster: what it builds on is past, and stays so. */
  isPast: boolean
}

export class RegistryOracle {
  readonly #isOurs: (name: string) => boolean
  readonly #proposals = new Map<string, Proposed>()
  readonly #operations: Operation<RegistryCall, string>[] = []
  readonly #checkpoints = new Map<number, string>()
  #events = 0

  /** Names that nobody else commits. */
  constructor(isOurs: (name: string) => boolean) {
    this.#isOurs = isOurs
  }

  get commitsTold(): number {
    return [...this.#proposals.values()].filter(({ told }) => told !== undefined).length
  }

  get checkpointsSeen(): number {
    return this.#checkpoints.size
  }

  /** The next place in the order of all questions and answers. */
  next(): number {
    this.#events += 1
    return this.#events
  }

  read(call: Extract<RegistryCall, { tag: 'head' | 'name' }>, result: string, invoked: number): void {
    this.#operations.push({ client: '', call, result, invoked, responded: this.next(), at: [0, 0] })
  }

  propose(id: string, items: readonly Item[]): void {
    this.#proposals.set(id, { items, askedAt: undefined, told: undefined, isPast: false })
  }

  /** Somebody asks for its commit; returns when. */
  ask(id: string): number {
    const at = this.next()
    const proposed = this.#of(id)
    proposed.askedAt ??= at
    return at
  }

  isCommitted(id: string): boolean {
    return this.#of(id).told !== undefined
  }

  /** The commit was answered with these facts; each time with the same. */
  commit(id: string, facts: VersionSummary, invoked: number): void {
    const responded = this.next()
    const proposed = this.#of(id)
    proposed.told ??= { facts, at: responded }
    assert.deepEqual(facts, proposed.told.facts, `${id} was committed twice, as different versions`)
    const call = { tag: 'repeat', proposal: id } as const
    this.#operations.push({ client: '', call, result: headText(facts), invoked, responded, at: [0, 0] })
  }

  /**
   * The commit was refused because a name is not any more what it builds on. It never will be again, unless that was
   * nothing: a name may be removed.
   */
  overtake(id: string): void {
    const proposed = this.#of(id)
    proposed.isPast = proposed.items.every(({ prev }) => prev !== null)
  }

  see({ size, root }: SeenCheckpoint): void {
    assert.equal(this.#checkpoints.get(size) ?? root, root, `the log has shown two roots of size ${size}`)
    this.#checkpoints.set(size, root)
  }

  /** Throws unless everything that anybody was told is so in the log, and could have happened in the order they saw. */
  hold({ versions, roots }: ReadLog, genesis: Head): void {
    for (const [size, root] of this.#checkpoints)
      assert.equal(roots[size], root, `the log was seen with ${size} entries, and is now not their continuation`)
    for (const version of versions) this.#holdVersion(version)
    for (const [id, { told }] of this.#proposals) {
      if (told === undefined) continue
      const { version } = told.facts
      const logged = versions[version - 1]
      assert.ok(
        logged?.proposal === id,
        `version ${version} was acknowledged as ${id}, and is ${logged?.proposal ?? 'lost'}`,
      )
      const { proposal: _proposal, items: _items, ...facts } = logged
      assert.deepEqual(told.facts, facts, `version ${version} is not what was acknowledged`)
    }
    const history = [...this.#operations, ...versions.map((version) => this.#making(version))]
    const { isLinearizable, longest } = checkLinearizable(history, registrySpec(headText(genesis)))
    assert.ok(isLinearizable, `only ${longest} of ${history.length} answers about HEAD and names fit one order`)
  }

  /** What became a version was asked for, and is all of what was asked for. */
  #holdVersion({ version, proposal, items }: LoggedVersion): void {
    const proposed = this.#proposals.get(proposal)
    if (proposed === undefined) {
      const ours = items.find(({ id }) => this.#isOurs(id))
      assert.equal(ours, undefined, `version ${version} changes ${ours?.id ?? ''}, which nobody proposed`)
      return
    }
    assert.ok(proposed.askedAt !== undefined, `version ${version} was committed, and nobody asked for it`)
    assert.ok(!proposed.isPast, `version ${version} is of ${proposal}, which was refused because others were faster`)
    assert.deepEqual(items.map(itemHash), proposed.items.map(itemHash), `version ${version} is not what was proposed`)
  }

  #making({ version, hash, proposal, items }: LoggedVersion): Operation<RegistryCall, string> {
    const { askedAt = 0, told } = this.#proposals.get(proposal) ?? { told: undefined }
    const changes = Object.fromEntries(items.map((item) => [item.id, meaningText(version, item)]))
    const call = { tag: 'commit', proposal, changes } as const
    const [invoked, responded] = [askedAt, told?.at ?? Number.POSITIVE_INFINITY]
    return { client: '', call, result: headText({ version, hash }), invoked, responded, at: [0, 0] }
  }

  #of(id: string): Proposed {
    const proposed = this.#proposals.get(id)
    if (proposed === undefined) throw new Error(`Nobody proposed ${id}.`)
    return proposed
  }
}

/** What the registry says of a name: since which version, and what. */
export function meaningText(version: number, item: Item): string {
  return isLive(item) ? `${version} ${itemHash(item)}` : NOTHING
}
