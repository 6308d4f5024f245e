/**
 * A process to be killed: interop and its storage on the real disk, behind a port. It says the port and then nothing.
 * Usage: `node kill-interop.ts DIRECTORY`.
 */
import { writeSync } from 'node:fs'
import { serveNode } from '@cairn/http/testing'
import { MemoryLog, MemoryMetrics, systemRuntime } from '@cairn/kernel'
import { createPlatform, nodeLookup, openWorkers, UndiciTransport } from '@cairn/platform'
import { ENVIRONMENT, InteropLife, LIFE_METRICS } from './interop-life.ts'
import { loadInterop } from './interop-module.ts'

const [data = ''] = process.argv.slice(2)
Object.assign(process.env, ENVIRONMENT)
const runtime = systemRuntime(new MemoryLog(), new MemoryMetrics(LIFE_METRICS))
const shared = { workers: openWorkers(runtime), transport: new UndiciTransport(runtime), lookup: nodeLookup }
const platform = createPlatform(runtime, shared)
const life = await InteropLife.open({ interop: await loadInterop(), platform, data, listen: serveNode })
writeSync(1, `open ${life.running.urls[0] ?? ''}\n`)
