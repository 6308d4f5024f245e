/** The models alone, without their mutants: which of them shows a fault, and how. Runs in the tree with the plant. */
import { EDGE } from '../model/edge/cores.ts'
import { FLIGHTS } from '../model/edge/flights.ts'
import { KEPT_CHUNKS } from '../model/edge/kept-chunks.ts'
import { exploreHashed } from '../model/hashed.ts'
import { CACHE } from '../model/index/cache.ts'
import { INDEX } from '../model/index/cores.ts'
import { LOOKUP } from '../model/index/lookup.ts'
import { APPLIED_ONCE, LEASES } from '../model/interop/applied-once.ts'
import { AUDIT_RING } from '../model/interop/audit-ring.ts'
import { INTEROP, MAILBOX } from '../model/interop/cores.ts'
import type { Model } from '../model/model.ts'
import { KERNEL_SUITES } from '../model/models/catalogue.ts'
import { KERNEL } from '../model/models/cores.ts'
import { faultNames } from '../model/outcome.ts'
import { COMMITTER } from '../model/registry/committer.ts'
import { REGISTRY } from '../model/registry/cores.ts'
import { COMMIT } from '../model/store/commit.ts'
import { COMPACTION_AND_READS } from '../model/store/compaction.ts'
import { STORE } from '../model/store/cores.ts'
import { DEDUPE } from '../model/store/dedupe.ts'
import { BUDGET, PACER } from '../model/store/pacer.ts'
import { LAST_SECOND } from '../model/store/sliding-window.ts'
import { MISSING_AND_SWEEPER, PUT_AND_SWEEPER } from '../model/store/sweeper.ts'
import { modelsOf, type Source, type Suite } from '../model/suite.ts'

export type ModelGroup = 'kernel' | 'store' | 'mailbox' | 'registry' | 'index' | 'edge' | 'interop' | 'storage'

const GROUPS: Readonly<Record<ModelGroup, () => Promise<Model[]>>> = {
  kernel: async () => await load(KERNEL, KERNEL_SUITES),
  store: async () => await load(STORE, [COMMIT, DEDUPE, PUT_AND_SWEEPER, MISSING_AND_SWEEPER, COMPACTION_AND_READS]),
  mailbox: async () => await load(MAILBOX, [LEASES]),
  registry: async () => await load(REGISTRY, [COMMITTER]),
  index: async () => await load(INDEX, [LOOKUP, CACHE]),
  edge: async () => await load(EDGE, [FLIGHTS, KEPT_CHUNKS]),
  interop: async () => [...(await load(INTEROP, [APPLIED_ONCE, AUDIT_RING])), ...(await load(MAILBOX, [LEASES]))],
  storage: async () => [
    ...(await load(BUDGET.source, [BUDGET.suite])),
    ...(await load(PACER.source, [PACER.suite])),
    ...(await load(LAST_SECOND.source, [LAST_SECOND.suite])),
  ],
}

async function load<Cores>(source: Source<Cores>, suites: readonly Suite<Cores>[]): Promise<Model[]> {
  const cores = await source.load(source.directory)
  return suites.flatMap((suite) => modelsOf(suite, cores))
}

/** The first fault any model of the groups shows; nothing if every state is right. */
export async function exploreGroups(groups: readonly ModelGroup[]): Promise<string | undefined> {
  for (const group of groups) {
    for (const model of await GROUPS[group]()) {
      const [fault] = faultNames(exploreHashed(model))
      if (fault !== undefined) return `${model.name}: ${fault}`
    }
  }
  return undefined
}
