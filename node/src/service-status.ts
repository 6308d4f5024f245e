import { type Health, toCairnError } from '@cairn/kernel'
import type { NodeStatus } from './routes.ts'

interface Described {
  readonly name: string
  readonly running: { readonly urls: readonly string[]; readonly health: Pick<Health, 'readiness'> }
  summary(): Promise<string>
}

/**
 * Where a service listens, whether it is ready, and a line about it. Somebody asks when a drive fails, so one that cannot
 * be read takes only that line: it says what is wrong instead.
 */
export async function serviceStatus(service: Described): Promise<NodeStatus['services'][number]> {
  const { name, running } = service
  const summary = await service.summary().catch((error: unknown) => toCairnError(error).message)
  const { ready, missing } = running.health.readiness.value
  return { name, urls: running.urls, ready, missing, summary }
}
