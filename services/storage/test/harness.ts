/** The whole service in virtual time, asked through its ingress: no socket, no file, no thread. */
import { isKind } from '@cairn/kernel'
import { type Audience, blake3, type Caveat, type Scope } from '@cairn/wire'
import type { z } from 'zod'
import type { Answer } from '../../../verify/virtual/answer.ts'
import type { AskedStore } from '../../../verify/virtual/content.ts'
import type { VirtualMachine, VirtualPlatform } from '../../../verify/virtual/machine.ts'
import {
  adminTokenOf,
  hostOf,
  type MachineOptions,
  startMachine,
  tokenOf,
  VirtualService,
} from '../../../verify/virtual/virtual-service.ts'
import { VirtualWorld } from '../../../verify/virtual/world.ts'
import { type StorageConfig, storageSection } from '../src/config.ts'
import { runParts } from '../src/main.ts'
import { STORAGE_METRICS } from '../src/metrics.ts'
import { openParts, type StorageParts } from '../src/parts.ts'

export const ADMIN = adminTokenOf('storage')

export function tokenFor(scopes: readonly Scope[], caveats: readonly Caveat[] = [], aud: Audience = 'storage'): string {
  return tokenOf(aud, scopes, { caveats })
}

/** Most tests want room for a few objects, not for two segments. */
const RESERVE = '1MiB'

export interface ServiceOptions extends MachineOptions {
  readonly config?: z.input<typeof storageSection>
  /** Done on the machine before the service starts. */
  readonly prepare?: (platform: VirtualPlatform) => Promise<void>
}

export class TestService extends VirtualService<StorageConfig, StorageParts> {
  static async start(
    options: ServiceOptions = {},
    world = new VirtualWorld(1),
    machine = world.machine('node'),
  ): Promise<TestService> {
    return await world.run(TestService.open(options, world, machine))
  }

  /** Like `start`, inside a scenario that lets the world's time pass itself. */
  static async open(
    { config: input = {}, prepare, ...options }: ServiceOptions,
    world: VirtualWorld,
    machine: VirtualMachine,
  ): Promise<TestService> {
    const platform = await startMachine(machine, STORAGE_METRICS, options)
    await prepare?.(platform)
    const values = storageSection.parse({ reserve_bytes: RESERVE, ...input })
    const identitySeed = blake3(new TextEncoder().encode(machine.name))
    const host = { ...hostOf('storage', platform, values), identitySeed }
    const parts = await openParts(host)
    const { running } = await runParts(host, parts)
    await running.health.readiness.until(({ ready }) => ready)
    return new TestService({ world, machine, ...host, parts, running }, ADMIN)
  }
}

/** The service as one of several that are waited for; see `content.ts`. */
export function askedStore(name: string, service: TestService): AskedStore {
  return { name, ask: async (method, path) => (await service.send(method, path)).fields() }
}

/** Whether an error of ours of this kind ended the body. */
export function brokenBy(answer: Answer, kind: Parameters<typeof isKind>[1]): boolean {
  return isKind(answer.broken, kind)
}
