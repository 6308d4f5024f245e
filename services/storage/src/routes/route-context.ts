/** What several routes take, in one place. */

import type { RequestContext } from '@cairn/http'
import { isKind, sleep } from '@cairn/kernel'
import type { Scope } from '@cairn/wire'
import type { StorageConfig } from '../config.ts'
import type { StorageParts } from '../parts.ts'

// Reads of the disk, in the pool, on behalf of a request.

export type StorageRequestContext = RequestContext<unknown, unknown, unknown>

/** A pause before the pool is asked again, when it is full in the middle of an answer. */
const RETRY_MS = 20

/**
 * What reads ask for when `auth.read_requires_capability` is set. The table of scopes has none for reading alone:
 * whoever may write an object may read it back, and a `method` caveat makes a token that can do nothing else.
 */
export function readScope(config: StorageConfig): { readonly scope?: Scope } {
  return config.auth.read_requires_capability ? { scope: 'storage:write' } : {}
}

/** Runs the read in the pool; where the answer has begun, a full pool makes it wait, not end. */
export async function readWithRetry<T>(
  { work, runtime }: StorageParts,
  context: StorageRequestContext,
  read: () => Promise<T>,
): Promise<T> {
  for (;;) {
    try {
      return await work.read(read, context)
    } catch (error) {
      if (!isKind(error, 'Busy')) throw error
      await sleep(runtime.clock, RETRY_MS, { signal: context.signal })
    }
  }
}
