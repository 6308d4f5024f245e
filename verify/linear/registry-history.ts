/** Clients of one registry on a virtual machine, all at once, and what each of them was answered when. */

import { INGRESS_METRICS } from '@cairn/http'
import { KERNEL_METRICS } from '@cairn/kernel'
import { SeededRandom } from '@cairn/kernel/testing'
import { type Head, itemHash, type LiveItem, type NameItem } from '@cairn/names'
import { type Address, addressOf } from '@cairn/wire'
import { REGISTRY_METRICS } from '../../services/registry/src/metrics.ts'
import { RegistryLife } from '../chaos/registry/registry-life.ts'
import type { RegistryModule } from '../chaos/registry/registry-module.ts'
import { signatureOf, TEST_SIGNERS } from '../chaos/registry/registry-signers.ts'
import { VirtualWorld } from '../virtual/world.ts'
import type { Operation } from './checker.ts'
import { headText, NOTHING, type RegistryCall, type RegistryResult } from './registry-spec.ts'

export interface History {
  readonly genesis: string
  readonly operations: readonly Operation<RegistryCall, RegistryResult>[]
}

export interface HistoryOptions {
  readonly registry: RegistryModule
  readonly seed: number
  readonly clients: number
  readonly stepsEach: number
}

const NAMES = 3
const PAUSE_MS_MAX = 3

interface Proposed {
  readonly proposal: string
  readonly input: string
}

export async function recordHistory(options: HistoryOptions): Promise<History> {
  const world = new VirtualWorld(options.seed)
  const platform = world
    .machine('node')
    .start({ metrics: { ...KERNEL_METRICS, ...INGRESS_METRICS, ...REGISTRY_METRICS } })
  const run = async (): Promise<History> => {
    const life = await RegistryLife.open({
      registry: options.registry,
      platform,
      data: 'data',
      onSigned: () => undefined,
    })
    const recorder = new Recorder(world, life)
    const genesis = headText(life.parts.published.value.head)
    await Promise.all(
      Array.from({ length: options.clients }, async (_, at) => {
        const random = new SeededRandom(options.seed * 100 + at)
        await new Client(recorder, `client-${at}`, random).run(options.stepsEach)
      }),
    )
    await life.stop()
    await platform.workers.close()
    return { genesis, operations: recorder.operations }
  }
  return await world.run(run())
}

class Recorder {
  readonly world: VirtualWorld
  readonly life: RegistryLife
  readonly operations: Operation<RegistryCall, RegistryResult>[] = []
  /** What is open, for whoever wants to approve or commit it. */
  readonly proposed: Proposed[] = []
  #events = 0

  constructor(world: VirtualWorld, life: RegistryLife) {
    this.world = world
    this.life = life
  }

  /** Asks, and notes when; `read` says what was answered, and for a proposal which call it was. */
  async note<T>(
    client: string,
    ask: () => Promise<T>,
    read: (answer: T) => { readonly call: RegistryCall; readonly result: RegistryResult },
  ): Promise<T> {
    const invoked = this.#next()
    const from = this.world.clock.now()
    const answer = await ask()
    const responded = this.#next()
    this.operations.push({ client, ...read(answer), invoked, responded, at: [from, this.world.clock.now()] })
    return answer
  }

  #next(): number {
    this.#events += 1
    return this.#events
  }
}

class Client {
  readonly #recorder: Recorder
  readonly #name: string
  readonly #random: SeededRandom
  #count = 0

  constructor(recorder: Recorder, name: string, random: SeededRandom) {
    this.#recorder = recorder
    this.#name = name
    this.#random = random
  }

  async run(steps: number): Promise<void> {
    for (let step = 0; step < steps; step += 1) {
      const draw = this.#random.next()
      const { proposed } = this.#recorder
      const open = proposed[proposed.length - 1 - Math.floor(this.#random.next() * Math.min(3, proposed.length))]
      if (draw < 0.25) await this.#readHead()
      else if (draw < 0.45 || open === undefined) await this.#propose()
      else if (draw < 0.75) await this.#approve(open)
      else await this.#commit(open)
      await this.#recorder.world.sleep(this.#random.next() * PAUSE_MS_MAX)
    }
  }

  async #readHead(): Promise<void> {
    const { life } = this.#recorder
    await this.#recorder.note(
      this.#name,
      async () => await life.ask('GET', '/registry/head'),
      (answer) => ({ call: { tag: 'head' }, result: headText(answer.json() as Head) }),
    )
  }

  async #propose(): Promise<void> {
    const { life, proposed } = this.#recorder
    const name = `name-${Math.floor(this.#random.next() * NAMES)}@1`
    const known = await this.#recorder.note(
      this.#name,
      async () => await life.ask('GET', `/registry/names/${name}`),
      (answer) => ({
        call: { tag: 'name', name },
        result: answer.status === 200 ? (answer.json() as { item: NameItem }).item.manifest : NOTHING,
      }),
    )
    const item = known.status === 200 ? (known.json() as { item: LiveItem & NameItem }).item : undefined
    this.#count += 1
    const meaning: Address = addressOf(new TextEncoder().encode(`${this.#name} ${this.#count}`))
    const prev = item === undefined ? null : itemHash(item)
    const items = [{ kind: 'name', id: name, manifest: meaning, prev }]
    await this.#recorder.note(
      this.#name,
      async () => await life.ask('POST', '/registry/proposals', { payload: { items } }),
      (answer) => {
        const { proposal_id: proposal, signing_input: input } = answer.json() as {
          proposal_id: string
          signing_input: string
        }
        proposed.push({ proposal, input })
        const before = item?.manifest ?? NOTHING
        return { call: { tag: 'propose', proposal, name, before, meaning }, result: 'done' }
      },
    )
  }

  async #approve({ proposal, input }: Proposed): Promise<void> {
    const { life } = this.#recorder
    const testSigner = TEST_SIGNERS[Math.floor(this.#random.next() * TEST_SIGNERS.length)]
    if (testSigner === undefined) return
    const { id: signer } = testSigner.signer
    const body = { signer_id: signer, sig: signatureOf(testSigner, input) }
    await this.#recorder.note(
      this.#name,
      async () => await life.ask('POST', `/registry/approvals/${proposal}`, body),
      ({ status, code }) => ({ call: { tag: 'approve', proposal, signer }, result: status === 200 ? 'done' : code }),
    )
  }

  async #commit({ proposal }: Proposed): Promise<void> {
    const { life } = this.#recorder
    await this.#recorder.note(
      this.#name,
      async () => await life.ask('POST', `/registry/commit/${proposal}`),
      (answer) => ({
        call: { tag: 'commit', proposal },
        result: answer.status === 201 ? headText(answer.json() as Head) : answer.code,
      }),
    )
  }
}
