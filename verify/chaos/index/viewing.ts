/** The index's view of a registry by itself, in virtual time: its task, its files, its metrics. */
import assert from 'node:assert/strict'
import type { RegistryClient } from '@cairn/clients'
import { Breakers, Cancel, Deadline, KERNEL_METRICS, Supervisor } from '@cairn/kernel'
import { parseProof, type TrustFile, verifyProof } from '@cairn/names'
import { systemCrypto } from '@cairn/platform'
import type { NameAnswer } from '../../../services/index/src/domain/name-source.ts'
import { REGISTRY_VIEW_METRICS } from '../../../services/index/src/metrics.ts'
import { RegistryView, type RegistryViewStatus } from '../../../services/index/src/registry-view/registry-view.ts'
import type { VirtualMachine, VirtualPlatform } from '../../virtual/machine.ts'
import type { VirtualWorld } from '../../virtual/world.ts'

export const DIRECTORY = 'data/index/registry'
const METRICS = { ...KERNEL_METRICS, ...REGISTRY_VIEW_METRICS }

export const MAX_CHECKPOINT_AGE_MS = 300_000

/** Virtual: what has not come to pass by then never will. */
const TIMEOUT_MS = 120_000

export class Viewing {
  readonly world: VirtualWorld
  readonly machine: VirtualMachine
  readonly platform: VirtualPlatform
  readonly view: RegistryView
  readonly #supervisor: Supervisor
  readonly #breakers: Breakers

  /** `client` is built for the platform the view runs on. */
  constructor(
    world: VirtualWorld,
    client: (platform: VirtualPlatform, breakers: Breakers) => RegistryClient,
    trust?: TrustFile,
    machine = world.machine('index'),
  ) {
    this.world = world
    this.machine = machine
    this.platform = machine.start({ metrics: METRICS })
    this.#breakers = new Breakers(this.platform)
    const built = client(this.platform, this.#breakers)
    this.view = new RegistryView({
      platform: this.platform,
      directory: DIRECTORY,
      client: built,
      trust,
      maxCheckpointAgeMs: MAX_CHECKPOINT_AGE_MS,
      refusesStale: false,
    })
    this.#supervisor = new Supervisor(this.platform, { drainDeadlineMs: 3000 })
    this.#supervisor.start('registry-follower', this.view.run)
  }

  /** Lets time pass until the view says this of the registry. */
  async until(tag: RegistryViewStatus['tag']): Promise<RegistryViewStatus> {
    return await this.#within((signal) => this.view.status.until((status) => status.tag === tag, { signal }))
  }

  /** Lets time pass until this version is proved. */
  async reach(version: number): Promise<void> {
    await this.#within((signal) => this.view.changes.until((proved) => proved >= version, { signal }))
  }

  async #within<T>(wait: (signal: AbortSignal) => Promise<T>): Promise<T> {
    using cancel = new Cancel({ deadline: Deadline.after(this.world.clock, TIMEOUT_MS), operation: 'the view' })
    return await this.world.run(wait(cancel.signal))
  }

  async sleep(ms: number): Promise<void> {
    await this.world.run(this.world.sleep(ms))
  }

  async resolve(name: string, from?: number): Promise<NameAnswer> {
    const deadline = Deadline.after(this.platform.clock, 1200)
    return await this.world.run(this.view.resolve(name, deadline, undefined, from))
  }

  /** What the name means, by a proof that somebody with the trust file alone believes. */
  async meaning(name: string, trust: TrustFile): Promise<string | undefined> {
    const answer = await this.resolve(name)
    if (answer.tag === 'absent') return undefined
    assert.ok(answer.tag === 'found', JSON.stringify(answer))
    const verdict = verifyProof(parseProof(answer.proof), trust, systemCrypto, { now: this.platform.clock.wall() })
    assert.ok(verdict.kind === 'verified' && verdict.finding.type === 'name', JSON.stringify(verdict))
    assert.equal(verdict.finding.item?.manifest, answer.address)
    assert.equal(verdict.finding.name, name)
    return answer.address
  }

  refused(reason: string): number {
    return this.platform.metrics.value('index_registry_refused_total', { reason })
  }

  checks(outcome: string): number {
    return this.platform.metrics.value('index_registry_checks_total', { outcome })
  }

  /** Ends as a service does, and checks that nothing is left. */
  async stop(): Promise<void> {
    const report = await this.world.run(this.#supervisor.stop())
    assert.deepEqual(report, { aborted: [], abandoned: [] })
    await this.world.run(this.view.close())
    await this.world.run(this.platform.workers.close())
    this.#breakers.close()
    assert.deepEqual(this.machine.leaks(), [])
    this.machine.kill()
  }

  /** The process goes, without a word. */
  kill(): void {
    this.machine.kill()
  }
}
