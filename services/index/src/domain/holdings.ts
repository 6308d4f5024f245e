/** Whether this node's own storage holds an object, as far as it can be asked. */
import type { StorageClient } from '@cairn/clients'
import { Deadline, type Runtime, throwIfCanceled, toCairnError } from '@cairn/kernel'
import type { LocalRecordsOptions } from '@cairn/routing'

/** Storage is next door; past this its answer would cost the lookup in the network its time. */
const STORAGE_MS = 200

/** A storage that does not answer counts as one that holds nothing: others may hold it too. */
export function holdingsOf(
  { clock, log }: Runtime,
  storage: Pick<StorageClient, 'has'> | undefined,
): LocalRecordsOptions['has'] {
  return async (cid, { signal }) => {
    if (storage === undefined) return false
    try {
      return await storage.has(cid, { deadline: Deadline.after(clock, STORAGE_MS), signal })
    } catch (error) {
      throwIfCanceled(signal)
      log.debug({ error: toCairnError(error).message }, 'storage could not be asked')
      return false
    }
  }
}
