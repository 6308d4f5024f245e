/** Every task of the registry, started. */
import type { Health, Supervisor } from '@cairn/kernel'
import type { ServiceHost } from '@cairn/platform'
import type { RegistryConfig } from './config.ts'
import type { RegistryParts } from './parts.ts'
import { checkpointor } from './tasks/checkpointor.ts'
import { healthGate } from './tasks/health-gate.ts'

export function startTasks(
  { platform, config }: Pick<ServiceHost<RegistryConfig>, 'platform' | 'config'>,
  parts: RegistryParts,
  supervisor: Supervisor,
  health: Health,
): void {
  const { checkpoint_interval: intervalMs } = config.current
  supervisor.start('committer', parts.committer.run)
  supervisor.start('publisher', parts.publisher.run)
  health.meet('bus_attached')
  const isReading = (): boolean => parts.custody.problem !== undefined
  supervisor.start('checkpointor', checkpointor(platform, parts, intervalMs, isReading))
  health.meet('checkpointor_ready')
  supervisor.start('pruner', parts.pruner.run)
  supervisor.start('deep-verifier', parts.verifier.run)
  supervisor.start(
    'health-gate',
    healthGate(platform, parts, health, () => 1 + config.snapshot.version),
  )
}
