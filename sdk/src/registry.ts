/** Names and their history. What the registry answers has its form checked; only a proof is to be believed. */
import {
  type CommittedProposal,
  type NamedItem,
  type OpenProposal,
  type ProofSubject,
  type ProposalPage,
  type Proposed,
  type RegistryClient,
  type RegistryEvent,
  type RegistryHead,
  registryClient,
  type VersionFacts,
} from '@cairn/clients'
import type {
  ApprovalRequest,
  Artifact,
  NameItem,
  Payload,
  Pin,
  Quorum,
  Supersede,
  TrustFile,
  Verdict,
} from '@cairn/names'
import type { AbortOptions } from './maintenance.ts'
import { type Belief, judgeProof, provenName } from './proof.ts'
import type { Services } from './services.ts'

export interface ProvenName {
  /** Null where the name means nothing, which is proved as well. */
  readonly item: NameItem | null
  /** The version of the registry that says so. */
  readonly version: number
  /** To be remembered, and given the next time. */
  readonly pin: Pin
}

export class Registry {
  readonly #services: Services
  #asked: RegistryClient | undefined

  constructor(services: Services) {
    this.#services = services
  }

  get #client(): RegistryClient {
    this.#asked ??= registryClient(this.#services.caller('registry'))
    return this.#asked
  }

  async head({ signal }: AbortOptions = {}): Promise<RegistryHead> {
    return await this.#client.head(this.#services.call(signal))
  }

  async version(version: number, { signal }: AbortOptions = {}): Promise<Artifact> {
    return await this.#client.version(version, this.#services.call(signal))
  }

  /** What the registry says the name means, now or at a version; undefined where that is nothing. `proven` asks for more. */
  async name(name: string, { at, signal }: AbortOptions & { at?: number } = {}): Promise<NamedItem | undefined> {
    return await this.#client.name(name, at, this.#services.call(signal))
  }

  /** What the name means now, by a proof that was verified here; `Integrity` if it does not hold. */
  async proven(name: string, { signal, ...belief }: AbortOptions & Belief): Promise<ProvenName> {
    const proof = await this.proof({ name }, { from: belief.pin?.size, signal })
    const { finding, pin } = await provenName(proof, name, belief, this.#services.runtime.clock.wall())
    return { item: finding.item, version: finding.head.version, pin }
  }

  /** What a proof file is worth: verified, consistent with itself alone, or refused. Asks nobody. */
  async verify(proof: Uint8Array, belief: Belief = {}): Promise<Verdict> {
    return await judgeProof(proof, belief, this.#services.runtime.clock.wall())
  }

  /** A proof file, byte for byte; with `from`, it also shows that the log continues the tree of that size. */
  async proof(
    subject: ProofSubject,
    { from, signal }: AbortOptions & { from?: number | undefined } = {},
  ): Promise<Uint8Array> {
    return await this.#client.proof(subject, from, this.#services.call(signal))
  }

  /** Whom the registry says to believe: worth what the way to it is worth. */
  async trust({ signal }: AbortOptions = {}): Promise<TrustFile> {
    return await this.#client.trust(this.#services.call(signal))
  }

  async checkpoint({ signal }: AbortOptions = {}): Promise<Uint8Array> {
    return await this.#client.checkpoint(this.#services.call(signal))
  }

  /** Open proposals in the order they came; `after` is the cursor of the page before. */
  async proposals({ after, signal }: AbortOptions & { after?: number } = {}): Promise<ProposalPage> {
    return await this.#client.proposals(after, this.#services.call(signal))
  }

  async proposal(id: string, { signal }: AbortOptions = {}): Promise<OpenProposal | CommittedProposal> {
    return await this.#client.proposal(id, this.#services.call(signal))
  }

  /** Not repeated by itself: a second would be another proposal. */
  async propose(
    payload: Payload,
    { supersede, signal }: AbortOptions & { supersede?: Supersede } = {},
  ): Promise<Proposed> {
    return await this.#client.propose(payload, supersede, this.#services.call(signal))
  }

  /** Hands in a signature; not repeated by itself, a second would be a duplicate. */
  async approve(id: string, approval: ApprovalRequest, { signal }: AbortOptions = {}): Promise<Quorum> {
    return await this.#client.approve(id, approval, this.#services.call(signal))
  }

  /** A proposal becomes one version, however often this is asked. */
  async commit(id: string, { signal }: AbortOptions = {}): Promise<VersionFacts> {
    return await this.#client.commit(id, this.#services.call(signal))
  }

  /** Every version after `after`, or from now on, over as many connections as it takes, until the signal. */
  updates({ after, signal }: AbortOptions & { after?: number } = {}): AsyncGenerator<RegistryEvent> {
    return this.#client.stream(after, this.#services.following(signal))
  }
}
