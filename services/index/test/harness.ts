/** The whole service in virtual time, asked through its ingress: no socket, no file, no thread. */
import type { Transport } from '@cairn/transport'
import type { Scope } from '@cairn/wire'
import type { z } from 'zod'
import type { VirtualMachine, VirtualPlatform } from '../../../verify/virtual/machine.ts'
import {
  adminTokenOf,
  hostOf,
  type MachineOptions,
  type OpenService,
  startMachine,
  tokenOf,
  VirtualService,
} from '../../../verify/virtual/virtual-service.ts'
import { VirtualWorld } from '../../../verify/virtual/world.ts'
import { type IndexConfig, indexSection } from '../src/config.ts'
import { runParts } from '../src/main.ts'
import { INDEX_METRICS } from '../src/metrics.ts'
import { type IndexDependencies, type IndexParts, openParts } from '../src/parts.ts'
import { seedOf, type TestNetwork } from './network.ts'

export function tokenFor(scopes: readonly Scope[], number = 9): string {
  return tokenOf('index', scopes, { number })
}

export interface ServiceOptions extends MachineOptions, Partial<IndexDependencies> {
  /** Others to ask; nobody otherwise. */
  readonly network?: TestNetwork
  /** Hosts that strangers name. */
  readonly outside?: (platform: VirtualPlatform) => Transport
  readonly config?: z.input<typeof indexSection>
  /** Sees the parts before any task runs. */
  readonly alter?: (parts: IndexParts) => void
}

export class TestService extends VirtualService<IndexConfig, IndexParts> {
  readonly summary: () => Promise<string>

  private constructor(open: OpenService<IndexConfig, IndexParts>, summary: () => Promise<string>) {
    super(open, adminTokenOf('index'))
    this.summary = summary
  }

  static async start(
    options: ServiceOptions = {},
    world = new VirtualWorld(1),
    machine = world.machine('node'),
  ): Promise<TestService> {
    return await world.run(TestService.open(options, world, machine))
  }

  /** Like `start`, inside a scenario that lets the world's time pass itself. */
  static async open(options: ServiceOptions, world: VirtualWorld, machine: VirtualMachine): Promise<TestService> {
    const { config: input = {}, alter, network, outside, ...dependencies } = options
    const platform = await startMachine(machine, INDEX_METRICS, options)
    const host = {
      ...hostOf('index', platform, indexSection.parse(input)),
      identitySeed: seedOf(1),
      routings: network === undefined ? [] : [network.on(platform.clock)],
      selfUrls: () => ['https://self.example.org'],
      egress: outside?.(platform) ?? platform.transport,
      ...dependencies,
    }
    const parts = await openParts(host)
    alter?.(parts)
    const { running, summary } = await runParts(host, parts)
    await running.health.readiness.until(({ ready }) => ready)
    return new TestService({ world, machine, ...host, parts, running }, summary)
  }

  /** Stops, and starts again on what is on the drive. */
  async restart(options: ServiceOptions = {}): Promise<TestService> {
    await this.stop()
    this.machine.kill()
    return await TestService.start(options, this.world, this.machine)
  }
}
