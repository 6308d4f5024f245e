/** The whole service in virtual time, asked through its ingress: no socket, no file, no thread. */
import type { Scope } from '@cairn/wire'
import type { z } from 'zod'
import type { VirtualMachine } from '../../../verify/virtual/machine.ts'
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
import { type RegistryConfig, registrySection } from '../src/config.ts'
import { runParts } from '../src/main.ts'
import { REGISTRY_METRICS } from '../src/metrics.ts'
import { openParts, type RegistryDependencies, type RegistryParts } from '../src/parts.ts'

export function tokenFor(scopes: readonly Scope[], number = 9): string {
  return tokenOf('registry', scopes, { number })
}

export const DIRECTORY = 'data/registry'

export interface ServiceOptions extends MachineOptions, RegistryDependencies {
  readonly config?: z.input<typeof registrySection>
  readonly environment?: Readonly<Record<string, string>>
  /** Sees the parts before any task runs. */
  readonly alter?: (parts: RegistryParts) => void
}

export class TestService extends VirtualService<RegistryConfig, RegistryParts> {
  readonly summary: () => Promise<string>

  private constructor(open: OpenService<RegistryConfig, RegistryParts>, summary: () => Promise<string>) {
    super(open, adminTokenOf('registry'))
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
    const { config: input = {}, alter, environment = {}, ...dependencies } = options
    const platform = await startMachine(machine, REGISTRY_METRICS, options, environment)
    const host = { ...hostOf('registry', platform, registrySection.parse(input)), ...dependencies }
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
