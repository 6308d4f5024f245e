import assert from 'node:assert/strict'
import { MemoryLog, MemoryMetrics, type Runtime, systemRuntime } from '@cairn/kernel'

/** Real time, and a check at the end that nothing is left: no resource, no timer, no socket. */
export function realRuntime(): Runtime & AsyncDisposable {
  const runtime = systemRuntime(new MemoryLog(), new MemoryMetrics())
  return {
    ...runtime,
    async [Symbol.asyncDispose](): Promise<void> {
      assert.deepEqual(runtime.topology.snapshot(), [])
      assert.equal(runtime.clock.pending(), 0, 'a timer is still set')
      // Handles close one turn of the loop after they were told to.
      for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve))
      const open = process
        .getActiveResourcesInfo()
        .filter((name) => /^(TCP|Pipe|TLS)/.test(name) && name !== 'PipeWrap')
      assert.deepEqual(open, [])
    },
  }
}
