import { CairnError } from '@cairn/kernel'
import { KV_KEY_BYTES_MAX, type KvOperation } from './kv.ts'

/** A defect of the caller, found before anything is written. */
export function checkOperations(operations: readonly KvOperation[]): void {
  for (const { key } of operations) {
    if (key.length >= 1 && key.length <= KV_KEY_BYTES_MAX) continue
    throw new CairnError('Internal', `A key has 1 to ${KV_KEY_BYTES_MAX} bytes, not ${key.length}.`, { code: 'kv_key' })
  }
}

export function kvPoisoned(cause: unknown): CairnError {
  const detail = 'The index could not be written and is out of use until it is opened again.'
  return new CairnError('StorageBusy', detail, { code: 'kv_poisoned', cause })
}

export function kvClosed(): CairnError {
  return new CairnError('Canceled', 'The index is closed.', { code: 'kv_closed' })
}

export function kvAlreadyOpen(): CairnError {
  return new CairnError('Conflict', 'The index is already open in this process.', { code: 'kv_open' })
}
