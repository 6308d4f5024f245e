/** Every sync that a commit stands on, taken out one at a time: each must be missed by the power-cut campaign. */
import type { SourceMutant } from '../service-module.ts'

const LOG = 'services/registry/src/domain/registry-log.ts'
const APPENDER = 'packages/store/src/journal/appender.ts'

/** Missed only by whoever is killed first and loses power then. */
export const RECOVERY_MUTANTS: readonly SourceMutant[] = [
  {
    name: 'what a killed process wrote counts without a sync',
    file: 'packages/store/src/journal/recovery.ts',
    find: 'await directory.sync(file)',
    replace: '',
  },
]

export const SYNC_MUTANTS: readonly SourceMutant[] = [
  {
    name: 'signed before the entries are synced',
    file: APPENDER,
    find: 'await this.#start.directory.sync(active.file)',
    // Kind 18 is a checkpoint: what is written with nothing else is synced, everything before it is not.
    replace:
      'if (this.#core.unsynced.some(({ item }) => item.drafts[0]?.kind === 18)) await this.#start.directory.sync(active.file)',
  },
  {
    name: 'published before the checkpoint is synced',
    file: LOG,
    find: 'return await submission.durable()',
    replace: "return point === 'checkpoint-written' ? [] : await submission.durable()",
  },
  {
    name: 'neither entries nor checkpoint are synced',
    file: APPENDER,
    find: 'await this.#start.directory.sync(active.file)',
    replace: '',
  },
]
