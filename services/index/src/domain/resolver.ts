/**
 * The way of a question to its answer, once it has a worker.
 *
 *     name ─▶ registry view, if there is a registry ─┬─▶ found, with its proof
 *         └─▶ local names, if there is none          └─▶ nothing
 *
 *     address ─▶ own storage, announced records ─┬─▶ found here
 *                                                └─▶ hedged lookup ─▶ found | nothing | timeout | unready
 *
 * What was found, and that there is nothing, is handed to the cache; a timeout or a failure never is.
 */
import { type Breakers, type Deadline, type Runtime, timedOut } from '@cairn/kernel'
import { type LocalRecords, type ProviderRouting, providerOf, type RoutingLeg } from '@cairn/routing'
import type { Address } from '@cairn/wire'
import type { IndexConfig } from '../config.ts'
import { upstreamUnready } from '../errors.ts'
import type { Cache } from './cache.ts'
import { hedgedLookup, type LookupPolicy, legsWanted, RecentAnswers } from './hedged-lookup.ts'
import { digestOfProviders, type KnownProviders, mergeProviders } from './known-providers.ts'
import type { LocalOverrides } from './local-overrides.ts'
import { type CachedResult, type LookupQuestion, type LookupResult, NOTHING, questionKey } from './lookup.ts'
import { type NameSource, namesVersion } from './name-source.ts'

export interface ResolverParts {
  readonly config: () => IndexConfig
  readonly names: NameSource | undefined
  readonly overrides: LocalOverrides
  /** What this node can say by itself. */
  readonly local: LocalRecords
  /** Preferred first. */
  readonly routings: readonly ProviderRouting[]
  readonly breakers: Breakers
  readonly cache: Cache<CachedResult>
}

export class Resolver {
  readonly #runtime: Runtime
  readonly #parts: ResolverParts
  readonly #recent = new RecentAnswers()

  constructor(runtime: Runtime, parts: ResolverParts) {
    this.#runtime = runtime
    this.#parts = parts
  }

  /** What is kept and still holds. */
  cached(question: LookupQuestion): { readonly finding: LookupResult; readonly ageMs: number } | undefined {
    const entry = this.#parts.cache.read(questionKey(question))
    if (entry === undefined) return undefined
    const { finding, names } = entry.value
    if (question.tag === 'name' && names !== namesVersion(this.#parts.names, this.#parts.overrides)) return undefined
    return { finding, ageMs: this.#runtime.clock.now() - entry.storedAt }
  }

  /** Looks the question up and has the answer kept. */
  async find(question: LookupQuestion, deadline: Deadline, signal: AbortSignal): Promise<LookupResult> {
    // Read before the lookup: a change during it makes what is kept stale, not wrong.
    const names = namesVersion(this.#parts.names, this.#parts.overrides)
    const finding =
      question.tag === 'name'
        ? await this.#findName(question, deadline, signal)
        : await this.#findProviders(question, deadline, signal)
    if (isForAll(question)) this.#keep(question, { finding, names })
    return finding
  }

  #keep(question: LookupQuestion, cached: CachedResult): void {
    const { ttl, neg_ttl: negativeTtl } = this.#parts.config().cache
    const key = questionKey(question)
    const before = this.#parts.cache.read(key)?.value.finding
    if (before?.tag === 'providers' && cached.finding.tag === 'providers' && before.digest !== cached.finding.digest)
      this.#runtime.metrics.count('index_provider_set_changes_total')
    this.#parts.cache.keep(key, cached, cached.finding.tag === 'nothing' ? negativeTtl : ttl)
  }

  async #findName({ name, from }: NameQuestion, deadline: Deadline, signal: AbortSignal): Promise<LookupResult> {
    const { names, overrides } = this.#parts
    if (names === undefined) {
      const address = overrides.name(name)
      if (address === undefined) return NOTHING
      return { tag: 'name', address, source: 'db', version: undefined, proof: undefined, freshnessMs: 0 }
    }
    const answer = await names.resolve(name, deadline, signal, from)
    switch (answer.tag) {
      case 'absent':
        return NOTHING
      case 'unready':
        throw upstreamUnready(answer.detail)
      case 'found': {
        const { address, version, proof, freshnessMs } = answer
        return { tag: 'name', address, source: 'registry', version, proof: TEXT.decode(proof), freshnessMs }
      }
    }
  }

  async #findProviders(
    { cid, passedOn }: ProvidersQuestion,
    deadline: Deadline,
    signal: AbortSignal,
  ): Promise<LookupResult> {
    const { dht } = this.#parts.config()
    const here = await this.#known(cid, signal)
    // What this node holds and was told is one source.
    const quorum = dht.quorum - Math.min(1, here.length)
    if (quorum === 0) return found(here, 'db', undefined)
    const policy: LookupPolicy = {
      alpha: dht.alpha,
      beta: dht.beta,
      hedgeMs: dht.hedge,
      gatherMs: dht.gather,
      quorum,
      acceptUnsigned: dht.accept_unsigned,
    }
    const legs = this.#legs(cid, legsWanted(policy), passedOn === true)
    const options = { policy, deadline, signal, recent: this.#recent }
    const { end, providers, hedge } = await hedgedLookup(this.#runtime, this.#parts.breakers, cid, legs, options)
    const all = mergeProviders(here, providers)
    if (all.length > 0) return found(all, providers.length > 0 ? 'dht' : 'db', hedge)
    if (end === 'timeout') throw timedOut('the lookup')
    if (end === 'failed') throw upstreamUnready('Too few of those who may know a provider answered; try again soon.')
    this.#runtime.metrics.count('dht_errors_total', { kind: 'not_found' })
    return NOTHING
  }

  async #known(cid: Address, signal: AbortSignal): Promise<KnownProviders> {
    const wallMs = this.#runtime.clock.wall()
    const records = await this.#parts.local.about(cid, signal)
    return mergeProviders(
      [],
      records.map((record) => ({ ...providerOf(record, wallMs), sources: [HERE] })),
    )
  }

  /** From every routing in turn: the first wave asks different kinds of ways where there are several. */
  #legs(cid: Address, count: number, isPassedOn: boolean): readonly RoutingLeg[] {
    // Indexes that ask each other would otherwise wait for each other, until the budget of all of them is gone.
    const routings = this.#parts.routings.filter(({ name }) => !isPassedOn || name !== 'http')
    const lines = routings.map((routing) => routing.legs(cid, count))
    const legs: RoutingLeg[] = []
    for (let at = 0; legs.length < count && lines.some((line) => at < line.length); at += 1)
      for (const line of lines) {
        const leg = line[at]
        if (leg !== undefined && legs.length < count) legs.push(leg)
      }
    return legs
  }
}

type NameQuestion = Extract<LookupQuestion, { tag: 'name' }>
type ProvidersQuestion = Extract<LookupQuestion, { tag: 'providers' }>

/** Whether the answer is one for everybody who asks the like, and so worth keeping. */
function isForAll(question: LookupQuestion): boolean {
  return question.tag === 'name' ? question.from === undefined : question.passedOn !== true
}

const TEXT = new TextDecoder()
/** Records of this node, and those announced to it. */
const HERE = 'here'

function found(
  providers: KnownProviders,
  source: 'db' | 'dht',
  hedge: Extract<LookupResult, { tag: 'providers' }>['hedge'],
): LookupResult {
  return { tag: 'providers', providers, digest: digestOfProviders(providers), source, hedge }
}
