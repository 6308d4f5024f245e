/** Where a test can stop the world: at each arrow of a commit, in a periodic checkpoint, in a prune. */
export type CrashPoint =
  | 'entries-written'
  | 'entries-synced'
  | 'signed'
  | 'checkpoint-written'
  | 'checkpoint-synced'
  | 'published'
  | 'acknowledged'
  | 'mid-checkpoint'
  | 'mid-prune'

/** Told of each point as it is reached; only a test gives one that does anything. */
export type CrashPointHook = (point: CrashPoint) => Promise<void> | void

export const unarmed: CrashPointHook = () => {}
