import { cpus, loadavg, release, totalmem, type } from 'node:os'

/** The machine the figures belong to, on one line. */
export function describeMachine(): string {
  const processors = cpus()
  const model = processors[0]?.model.trim() ?? 'unknown processor'
  const memoryGib = (totalmem() / 2 ** 30).toFixed(1)
  const load = loadavg()[0]?.toFixed(2) ?? 'unknown'
  const node = `node ${process.version} (V8 ${process.versions.v8})`
  return `${processors.length} × ${model}, ${memoryGib} GiB, ${type()} ${release()}, ${node}, load ${load} at the start`
}
