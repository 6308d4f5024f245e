import type { TaskBody, Watch } from '@cairn/kernel'
import type { Replication } from '../placement/open-replication.ts'

/** Where copies should be. */
export interface Placement {
  /** Copies each object should have. */
  readonly copies: number
  /** Drives and peers that can hold one. */
  readonly targets: number
}

/**
 * Says where copies should be, and keeps fresh which peers are there. Targets are configured, so without peers there is
 * nothing to keep fresh: it says so once, and ends.
 */
export function placementClient(
  placement: Watch<Placement | undefined>,
  { replicas, peers }: Pick<Replication, 'replicas' | 'peers'>,
  onChange: () => void,
): TaskBody {
  return async ({ draining }) => {
    placement.set({ copies: replicas.copies, targets: replicas.targets.length })
    if (peers.count === 0) return
    for (;;) {
      if (await peers.round(draining)) onChange()
      await peers.pause(draining)
    }
  }
}
