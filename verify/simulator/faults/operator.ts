/** Clocks that are set, and configurations that are changed. */
import { merge } from '../settings.ts'
import type { Fault } from './fault.ts'

const JUMP_MS_MAX = 2 * 3_600_000

/** The wall clock jumps, back or forth, and back again when somebody notices. */
export const clockJump: Fault = (cluster, name, random) => {
  const { machine } = cluster.node(name)
  const byMs = Math.round((random.next() * 2 - 1) * JUMP_MS_MAX)
  const { lives } = machine
  const lasting = cluster.striking('clock-jump', [name])
  machine.jumpWall(byMs)
  return () => {
    // The next life has the right time again.
    if (machine.lives === lives) machine.jumpWall(-byMs)
    lasting[Symbol.dispose]()
  }
}

/** A configuration that changes live keys, or one that is not valid and must change nothing. */
export const reload: Fault = async (cluster, name, random) => {
  const node = cluster.node(name)
  const isValid = random.next() < 0.7
  const change = { ingress: { max_body_bytes: `${1 + Math.floor(random.next() * 8)}MiB` } }
  const changed = isValid ? { storage: change, edge: change } : { storage: { nobody_knows_this_key: true } }
  cluster.struck('reload', [name])
  await node.reload(merge(node.ownSettings, changed))
  // Not to what it found: that may be what another one did, which is over by then.
  return async () => await node.reload(node.ownSettings)
}
