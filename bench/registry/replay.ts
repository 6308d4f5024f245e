/**
 * How fast a registry reads its log when it starts.
 *
 *     node replay.ts DIRECTORY log     entries a second into tree, places and ledger, every sum checked
 *     node replay.ts DIRECTORY bare    the same files read and hashed, in pieces of an entry's size
 */
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { INGRESS_METRICS } from '@cairn/http'
import { Config, KERNEL_METRICS, MemoryLog, MemoryMetrics, systemRuntime } from '@cairn/kernel'
import { createPlatform, nodeLookup, openWorkers, UndiciTransport } from '@cairn/platform'
import { openParts, registrySection } from '@cairn/registry'
import { REGISTRY_METRICS } from '@cairn/registry/testing'

const [directory = '', mode = ''] = process.argv.slice(2)
const metrics = new MemoryMetrics({ ...KERNEL_METRICS, ...INGRESS_METRICS, ...REGISTRY_METRICS })
const runtime = systemRuntime(new MemoryLog(), metrics)
const shared = { workers: openWorkers(runtime), transport: new UndiciTransport(runtime), lookup: nodeLookup }
const platform = createPlatform(runtime, shared)

const config = new Config({ values: registrySection.parse({}), origins: {} })
const startedAt = performance.now()
// What this machine remembers of its own logs is no part of what is measured.
process.env['CAIRN_STATE'] = `${directory}.state`
const parts = await openParts({ platform, directory, config })
const openedMs = performance.now() - startedAt
const { size } = parts.log
await parts.close()
await shared.workers.close()
await shared.transport.close()

if (mode === 'log') process.stdout.write(`${(size * 1000) / openedMs}\n`)
else {
  const journal = join(directory, 'journal')
  const names = await readdir(journal)
  const bareAt = performance.now()
  const bytes = Buffer.concat(await Promise.all(names.map(async (name) => await readFile(join(journal, name)))))
  const piece = Math.ceil(bytes.length / size)
  for (let at = 0; at < bytes.length; at += piece)
    createHash('sha256')
      .update(bytes.subarray(at, at + piece))
      .digest()
  process.stdout.write(`${(size * 1000) / (performance.now() - bareAt)}\n`)
}
