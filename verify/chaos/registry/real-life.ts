/** A registry on this machine's own disk. */

import { INGRESS_METRICS } from '@cairn/http'
import { KERNEL_METRICS, MemoryLog, MemoryMetrics, systemRuntime } from '@cairn/kernel'
import { createPlatform, nodeLookup, openWorkers, type Platform, UndiciTransport } from '@cairn/platform'
import type { CrashPointHook } from '../../../services/registry/src/domain/crash-points.ts'
import { REGISTRY_METRICS } from '../../../services/registry/src/metrics.ts'
import { RegistryLife } from './registry-life.ts'
import type { MarkSink } from './registry-marks.ts'
import { loadRegistry } from './registry-module.ts'

export async function openRealLife(data: string, mark: MarkSink, reach?: CrashPointHook): Promise<RegistryLife> {
  const metrics = new MemoryMetrics({ ...KERNEL_METRICS, ...INGRESS_METRICS, ...REGISTRY_METRICS })
  const runtime = systemRuntime(new MemoryLog(), metrics)
  const shared = { workers: openWorkers(runtime), transport: new UndiciTransport(runtime), lookup: nodeLookup }
  return await RegistryLife.open({
    registry: await loadRegistry(),
    platform: rememberingIn(`${data}.state`, createPlatform(runtime, shared)),
    data,
    onSigned: (size, root) => mark({ tag: 'signed', size, root }),
    overrides: {
      checkpoint_interval: 40,
      retention: { policy: 'by-count', max_age: 3_600_000, max_count: 60, target_bytes: 1024 ** 3 },
    },
    ...(reach === undefined ? {} : { reach }),
  })
}

/** What the log has signed is kept there, and never in the home of whoever runs this. */
function rememberingIn(state: string, platform: Platform): Platform {
  const { process } = platform
  const own = {
    pid: process.pid,
    environment: { CAIRN_STATE: state },
    onSignal: process.onSignal.bind(process),
    exit: process.exit.bind(process),
  }
  return { ...platform, process: own }
}
