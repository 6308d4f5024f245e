/** Writes the head of the chain into the registry, so that not even we can change what lies before it. */
import type { RegistryClient } from '@cairn/clients'
import { Deadline, sleep, type TaskBody, toCairnError } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'
import type { InteropParts } from '../parts.ts'

const CALL_MS = 5000

export function auditAnchor(platform: Platform, parts: InteropParts, intervalMs: number): TaskBody {
  return async ({ draining }) => {
    const { registry } = parts
    if (registry === undefined) return
    for (;;) {
      await sleep(platform.clock, intervalMs, { signal: draining })
      await anchorOnce(platform, parts, registry, draining)
    }
  }
}

/** Anchors what is durable now, if that is more than before. */
async function anchorOnce(
  { clock, log }: Platform,
  { ledger, pressure }: InteropParts,
  registry: RegistryClient,
  signal: AbortSignal,
): Promise<void> {
  const { point, anchored } = ledger.chain
  if (point.count === anchored.count) return
  const context = { deadline: Deadline.after(clock, CALL_MS), signal }
  try {
    const { head, count } = point
    const index = await pressure.call('registry', 'anchor', context, async (call) => {
      return await registry.auditHead({ head, count }, call)
    })
    await ledger.anchor(point, index)
  } catch (error) {
    if (signal.aborted) throw error
    log.warn(
      { error: toCairnError(error).message },
      'the head of the audit was not anchored; the next round tries again',
    )
  }
}
