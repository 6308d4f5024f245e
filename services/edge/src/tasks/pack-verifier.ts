import { Cancel, type Config, type Health, type Runtime, type TaskBody, throwIfCanceled } from '@cairn/kernel'
import type { EdgeConfig } from '../config.ts'
import type { EdgeParts } from '../parts.ts'

type Parts = Pick<EdgeParts, 'packTable' | 'addedPacks'>

/** Mounts the packs of every configuration that comes into force, the first included, and those that were added. */
export function packVerifier(
  { log }: Runtime,
  { snapshot }: Config<EdgeConfig>,
  { packTable, addedPacks }: Parts,
  health: Health,
): TaskBody {
  return async ({ draining }) => {
    packTable.follow(() => judge(snapshot.value.values, packTable, health))
    for (;;) {
      const { value, version } = { value: snapshot.value, version: snapshot.version }
      const { packs } = value.values
      await packTable.mount(() => [...packs, ...addedPacks.beside(packs)], draining)
      const failed = packTable.failures().length
      if (packTable.count > 0) log.info({ packs: packTable.count, failed }, 'packs verified')
      await configured(snapshot, version, packTable, draining)
    }
  }
}

/** Resolves with the next configuration; opens packs again meanwhile whose files were replaced. */
async function configured(
  snapshot: Config<EdgeConfig>['snapshot'],
  version: number,
  packTable: Parts['packTable'],
  draining: AbortSignal,
): Promise<void> {
  for (;;) {
    using waiting = new Cancel({ signals: [draining] })
    packTable.followReplaced(() => waiting.abort())
    try {
      await snapshot.changed(version, { signal: waiting.signal })
      return
    } catch (error) {
      throwIfCanceled(draining)
      if (!waiting.signal.aborted) throw error
    }
    await packTable.reopen(draining)
  }
}

/**
 * Ready is about the packs of the configuration. One that was added and is gone since must not keep a node from
 * starting: it could then not be removed.
 */
function judge({ packs }: EdgeConfig, packTable: Parts['packTable'], health: Health): void {
  const states = packs.map(({ name }) => ({ name, state: packTable.state(name) }))
  if (states.some(({ state }) => state === undefined)) return
  const failures = states.flatMap(({ name, state }) => (state?.tag === 'failed' ? [`${name}: ${state.why}`] : []))
  if (failures.length === 0) health.meet('packs_verified')
  else health.miss('packs_verified', failures.join(' '))
}
