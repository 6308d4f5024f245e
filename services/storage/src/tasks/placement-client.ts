import type { TaskBody, Watch } from '@cairn/kernel'
import type { Replication } from '../placement/open-replication.ts'

/** Where copies should be. */
export interface Placement {
  /** Copies each object should have. */
  readonly copies: number
  /** Drives and peers that can hold one. */
  readonly targets: number
}

const ONE_TARGET: Placement = { copies: 1, targets: 1 }

/**
 * Says where copies should be, and keeps fresh which peers are there. Targets are configured, so without peers there is
 * nothing to keep fresh: it says so once, and ends.
 */
export function placementClient(
  placement: Watch<Placement | undefined>,
  replication: Pick<Replication, 'replicas' | 'peers'> | undefined,
  onChange: () => void,
): TaskBody {
  return async ({ draining }) => {
    const copies = replication?.replicas.copies ?? ONE_TARGET.copies
    placement.set({ copies, targets: replication?.replicas.targets.length ?? ONE_TARGET.targets })
    if (replication === undefined || replication.peers.count === 0) return
    for (;;) {
      if (await replication.peers.round(draining)) onChange()
      await replication.peers.pause(draining)
    }
  }
}
