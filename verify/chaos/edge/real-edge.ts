/** The service on a real drive and a real port, with the process packs of strangers are read in. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { INGRESS_METRICS, NO_CAPABILITIES } from '@cairn/http'
import { Config, KERNEL_METRICS, MemoryLog, MemoryMetrics, systemRuntime } from '@cairn/kernel'
import { createPlatform, nodeLookup, openIsolated, openWorkers, UndiciTransport } from '@cairn/platform'
import { edgeSection, type PackConfig } from '../../../services/edge/src/config.ts'
import { runParts } from '../../../services/edge/src/main.ts'
import { EDGE_METRICS } from '../../../services/edge/src/metrics.ts'
import { type EdgeParts, openParts } from '../../../services/edge/src/parts.ts'

export interface RealEdge extends AsyncDisposable {
  readonly base: string
  readonly parts: EdgeParts
  /** Opens the packs again, as a new configuration does. */
  remount(): Promise<void>
}

/** A directory that goes away with the test. */
export async function temporary(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'cairn-edge-'))
  return { path, [Symbol.asyncDispose]: async () => await rm(path, { recursive: true }) }
}

export async function startRealEdge(
  directory: string,
  packs: readonly { readonly name: string; readonly path: string }[],
): Promise<RealEdge> {
  const metrics = new MemoryMetrics({ ...KERNEL_METRICS, ...INGRESS_METRICS, ...EDGE_METRICS })
  const runtime = systemRuntime(new MemoryLog(), metrics)
  const machine = {
    workers: openWorkers(runtime),
    isolated: openIsolated(runtime),
    transport: new UndiciTransport(runtime),
  }
  const platform = createPlatform(runtime, { ...machine, lookup: nodeLookup })
  // On a busy machine opening a pack may take seconds; what is asked meanwhile waits for it.
  const ingress = { max_rps: 0, request_timeout: '1m' }
  const values = edgeSection.parse({ bind_addr: '127.0.0.1:0', ingress, packs })
  const host = {
    platform,
    config: new Config({ values, origins: {} }),
    directory: join(directory, 'edge'),
    authorizer: NO_CAPABILITIES,
    version: {},
    metricsText: async () => await Promise.resolve(''),
    onFatal: () => {},
  }
  const parts = await openParts(host)
  const { running } = await runParts(host, parts)
  const configs: readonly PackConfig[] = values.packs
  await running.health.readiness.until(() => configs.every(({ name }) => parts.packTable.state(name) !== undefined))
  const [url = ''] = running.urls
  return {
    base: `${url.replace(/\/$/, '')}/edge/assets/p`,
    parts,
    remount: async () => await parts.packTable.mount(() => configs, new AbortController().signal),
    [Symbol.asyncDispose]: async () => {
      await running.stop()
      await machine.isolated.close()
      await machine.workers.close()
      await machine.transport.close()
    },
  }
}
