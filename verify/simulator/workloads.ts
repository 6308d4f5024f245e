import type { MakeWorkload } from './workload.ts'
import { EdgeWorkload } from './workloads/edge.ts'
import { IndexWorkload } from './workloads/index.ts'
import { InteropWorkload } from './workloads/interop.ts'
import { RegistryWorkload } from './workloads/registry.ts'
import { StorageWorkload } from './workloads/storage.ts'

/** What clients do in every seed. */
export const WORKLOADS: readonly MakeWorkload[] = [
  (seed) => new StorageWorkload(seed),
  (seed) => new EdgeWorkload(seed),
  () => new RegistryWorkload(),
  (seed) => new IndexWorkload(seed),
  () => new InteropWorkload(),
]
