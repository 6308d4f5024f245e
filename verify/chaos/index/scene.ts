import { VirtualWorld } from '../../virtual/world.ts'
import { LyingRegistry } from './lying-registry.ts'
import { Viewing } from './viewing.ts'

export interface Scene {
  readonly registry: LyingRegistry
  readonly viewing: Viewing
}

/** A view that has proved a registry of two names, `site@1.0` and `other@1`. */
export async function scene(world = new VirtualWorld(1)): Promise<Scene> {
  const registry = new LyingRegistry()
  registry.log.setName('site@1.0', 'a')
  registry.log.setName('other@1', 'b')
  const viewing = new Viewing(world, () => registry.client, registry.log.trust())
  await viewing.reach(2)
  return { registry, viewing }
}
