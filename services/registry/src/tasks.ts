/** Every task of the registry, started. */

import type { ServiceHost } from '@cairn/http'
import { breakerJanitor, type Supervisor } from '@cairn/kernel'
import type { RegistryConfig } from './config.ts'
import type { RegistryParts } from './parts.ts'
import { checkpointor } from './tasks/checkpointor.ts'
import { healthGate } from './tasks/health-gate.ts'

export function startTasks(
  { platform, config, breakers }: Pick<ServiceHost<RegistryConfig>, 'platform' | 'config' | 'breakers'>,
  parts: RegistryParts,
  supervisor: Supervisor,
): void {
  const { checkpoint_interval: intervalMs } = config.current
  supervisor.start('committer', parts.committer.run)
  supervisor.start('publisher', parts.publisher.run)
  const isReading = (): boolean => parts.custody.problem !== undefined
  supervisor.start('checkpointor', checkpointor(platform, parts, intervalMs, isReading))
  supervisor.start('signed-keeper', parts.keeper.run)
  supervisor.start('pruner', parts.pruner.run)
  supervisor.start('deep-verifier', parts.verifier.run)
  if (parts.nameHolder !== undefined) supervisor.start('name-holder', parts.nameHolder.run)
  if (breakers !== undefined) supervisor.start('breaker-janitor', breakerJanitor(platform, [breakers]))
  supervisor.start(
    'health-gate',
    healthGate(platform, parts, () => 1 + config.snapshot.version),
  )
}
