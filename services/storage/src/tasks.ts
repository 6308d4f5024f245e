/** Every task of the storage service but those that all services have. */
import type { Health, Supervisor } from '@cairn/kernel'
import { type ServiceHost, Upkeep } from '@cairn/platform'
import type { StorageConfig } from './config.ts'
import type { StorageParts } from './parts.ts'
import { compactor } from './tasks/compactor.ts'
import { driveWatcher } from './tasks/drive-watcher.ts'
import { placementClient } from './tasks/placement-client.ts'
import { repairPlanner } from './tasks/repair-planner.ts'
import { repairWorker } from './tasks/repair-worker.ts'
import { sweeper } from './tasks/sweeper.ts'

export function startTasks(
  { platform, config, upkeep = new Upkeep() }: ServiceHost<StorageConfig>,
  parts: StorageParts,
  supervisor: Supervisor,
  health: Health,
): void {
  const { pools, durability } = config.current
  const { sweep_interval: intervalMs, repair_pacing: bytesPerSecond } = durability
  const onChange = (): void => parts.repairs.wakePlanner()
  supervisor.start('get-worker', parts.work.getWorker, pools.get)
  supervisor.start('put-worker', parts.work.putWorker, pools.put)
  supervisor.start('placement-client', placementClient(parts.placement, parts.replication, onChange))
  supervisor.start('repair-planner', repairPlanner(platform, parts, intervalMs))
  supervisor.start('repair-worker', repairWorker(platform, parts, bytesPerSecond), pools.repair)
  supervisor.start('sweeper', sweeper(platform, parts.drives, upkeep, intervalMs))
  supervisor.start('compactor', compactor(platform, parts.drives, upkeep, intervalMs))
  supervisor.start('scrubber', parts.scrubs.run)
  supervisor.start('drive-watcher', driveWatcher(platform, parts.drives, { health, onChange }))
}
