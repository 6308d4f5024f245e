/** Several nodes in one virtual world, each a peer of the others. */
import { replaceSmallFile } from '@cairn/platform'
import { type Address, addressOf } from '@cairn/wire'
import type { VirtualMachine } from '../../../verify/virtual/machine.ts'
import { noise } from '../../../verify/virtual/noise.ts'
import { VirtualWorld } from '../../../verify/virtual/world.ts'
import { ADMIN, type ServiceOptions, TestService } from './harness.ts'

const TOKEN = 'peer.token'

/** The options of one node of these; all of them take each other's tokens. */
export function nodeOptions(
  name: string,
  names: readonly string[],
  config: NonNullable<ServiceOptions['config']> = {},
): ServiceOptions {
  const peers = names
    .filter((other) => other !== name)
    .map((id) => ({ url: `http://${id}:7071`, id, token_file: TOKEN }))
  return {
    config: {
      ...config,
      ingress: { hosts: [name] },
      peers,
      placement: { id: name, peer_timeout: '1s', ...config.placement },
      durability: { sweep_interval: '1s', ...config.durability },
    },
    prepare: async ({ disk }) => await replaceSmallFile(disk, TOKEN, Buffer.from(`${ADMIN}\n`)),
  }
}

/** A node that says it has an object, and sends other bytes. */
export class LyingPeer {
  readonly id: Address
  /** Requests for bytes that it answered. */
  asked = 0
  readonly #machine: VirtualMachine

  constructor(world: VirtualWorld, name: string, bytes = noise(1000, 9)) {
    this.id = addressOf(bytes)
    const facts = { size: bytes.length, type: 'text/plain', chunk_size: 65_536, version: 1, owners: [] }
    const json = (value: unknown) => ({
      status: 200,
      headers: ['Content-Type', 'application/json'],
      body: Buffer.from(JSON.stringify(value)),
    })
    this.#machine = world.machine(name)
    this.#machine.start().listen(7071, async ({ target, body }) => {
      if (target.startsWith('/c/b3:')) {
        this.asked += 1
        return { status: 200, headers: ['Content-Type', 'application/octet-stream'], body: noise(1000, 10) }
      }
      if (target.startsWith('/copies/b3:')) return json(facts)
      if (!target.startsWith('/copies/known')) return { status: 503, headers: [], body: Buffer.from('') }
      const { ids = [] } = JSON.parse(await textOf(body)) as { ids?: string[] }
      const copies = ids.map((id) => (id === this.id ? { tag: 'object', version: 1, proved: true } : { tag: 'absent' }))
      return json({ node: name, copies })
    })
  }

  close(): void {
    this.#machine.kill()
  }
}

/** What was sent, or an empty object. */
export async function textOf(body: AsyncIterable<Uint8Array> | Uint8Array | undefined): Promise<string> {
  const pieces: Uint8Array[] = []
  if (body instanceof Uint8Array) pieces.push(body)
  else if (body !== undefined) for await (const piece of body) pieces.push(piece)
  return Buffer.concat(pieces).toString() || '{}'
}

export class Nodes {
  readonly world: VirtualWorld
  readonly names: readonly string[]
  readonly services = new Map<string, TestService>()
  readonly #config: NonNullable<ServiceOptions['config']>
  readonly #strangers: readonly string[]

  /** `strangers` are peers of all of them that somebody else plays. */
  constructor(
    names: readonly string[],
    config: NonNullable<ServiceOptions['config']> = {},
    world = new VirtualWorld(1),
    strangers: readonly string[] = [],
  ) {
    this.world = world
    this.names = names
    this.#config = config
    this.#strangers = strangers
  }

  /** Starts every node that does not run; one after the other, each without waiting for those that are not there yet. */
  async open(): Promise<void> {
    for (const name of this.names) {
      const machine = this.world.machine(name)
      if (machine.isUp) continue
      const options = nodeOptions(name, [...this.names, ...this.#strangers], this.#config)
      this.services.set(name, await TestService.open(options, this.world, machine))
    }
  }

  async start(): Promise<this> {
    await this.world.run(this.open())
    await this.world.run(this.world.sleep(3000))
    return this
  }

  at(name: string): TestService {
    const service = this.services.get(name)
    if (service === undefined) throw new Error(`${name} was not started.`)
    return service
  }

  async sleep(ms: number): Promise<void> {
    await this.world.run(this.world.sleep(ms))
  }

  async stop(): Promise<void> {
    for (const [name, service] of this.services)
      if (this.world.machine(name).isUp) await this.world.run(service.shutDown())
  }
}
