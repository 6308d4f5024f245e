/** The first place to look: this node itself. */
import { Cancel, type Clock, throwIfCanceled } from '@cairn/kernel'
import type { Address } from '@cairn/wire'
import type { LocalRecords } from '../src/provider-record-store.ts'
import type { ProviderRouting, RoutingLeg, RoutingPeer } from '../src/provider-routing.ts'
import { providerOf } from '../src/record-gate.ts'

export class LocalRouting implements ProviderRouting {
  readonly name = 'local'
  readonly announces = false
  readonly #clock: Clock
  readonly #records: LocalRecords

  constructor(clock: Clock, records: LocalRecords) {
    this.#clock = clock
    this.#records = records
  }

  /** One leg: there is one of us. */
  legs(_cid: Address, count: number): readonly RoutingLeg[] {
    return count < 1 ? [] : [this.#leg]
  }

  readonly #leg: RoutingLeg = {
    target: 'local',
    knowledge: 'local',
    find: async (cid, { deadline, signal, onProvider }) => {
      using cancel = new Cancel({ signals: [signal], deadline, operation: 'the look at our own objects' })
      throwIfCanceled(cancel.signal)
      const records = await this.#records.about(cid, cancel.signal)
      throwIfCanceled(cancel.signal)
      for (const record of records) onProvider(providerOf(record, this.#clock.wall()))
    },
  }

  /** What we hold is known here without being told. */
  async provide(): Promise<void> {}

  async unprovide(): Promise<void> {}

  peers(): readonly RoutingPeer[] {
    return []
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}
