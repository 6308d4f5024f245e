/** Drives that fail, fill up, slow down and rot. */
import type { Fault as DriveFault } from '../../virtual/faults.ts'
import type { Cluster } from '../cluster.ts'
import { repair } from '../repair.ts'
import { DATA } from '../settings.ts'
import type { Fault } from './fault.ts'

/** How many of the calls that a fault can fault it schedule. */
const RATE = 0.05
/** One of so many of them is the first that it schedule for certain, and how long it waits for that one before it is over. */
const FIRST_CALLS_MAX = 10
const FIRST_MS_MAX = 1000
const SLOWNESS_MIN = 5
const SLOWNESS_MORE = 60
/** Room left on a drive that is full. */
const ROOM_BYTES_MAX = 40_000
/** Behind the header of a segment. */
const HEADER_BYTES = 128

/** Calls to the drive fail in this way, now and then. */
export function failingDrive(kind: 'io-error' | 'no-space' | 'short-write' | 'torn-write'): Fault {
  return (cluster, name, random) => {
    const { faults } = cluster.node(name).machine
    faults.rates = { ...faults.rates, [kind]: RATE }
    const first = faults.plan({ fault: kind, nth: 1 + Math.floor(random.next() * FIRST_CALLS_MAX) })
    const seen = new Set<DriveFault>()
    // From the first call that fails on it is a drive that fails now and then, for whoever works there.
    const struck = new DisposableStack()
    faults.onStrike = (fault: DriveFault) => {
      seen.add(fault)
      cluster.poller.changed()
      if (fault !== 'bit-flip' && !struck.disposed) struck.use(cluster.striking(fault, [name]))
    }
    return async () => {
      if (!seen.has(kind)) await cluster.poller.until(() => seen.has(kind), 1, FIRST_MS_MAX)
      first[Symbol.dispose]()
      faults.rates = { ...faults.rates, [kind]: 0 }
      struck.dispose()
    }
  }
}

export const fullDrive: Fault = (cluster, name, random) => {
  const { drive } = cluster.node(name).machine
  const takenBytes = Math.max(0, drive.space.freeBytes - Math.floor(random.next() * ROOM_BYTES_MAX))
  drive.capacityBytes -= takenBytes
  cluster.struck('full-drive', [name])
  return () => {
    // Gives back what it took: another one may have filled the same drive meanwhile.
    drive.capacityBytes += takenBytes
  }
}

export const slowDrive: Fault = (cluster, name, random) => {
  const { faults } = cluster.node(name).machine
  faults.slowness = SLOWNESS_MIN + random.next() * SLOWNESS_MORE
  cluster.struck('slow-drive', [name])
  return () => {
    faults.slowness = 1
  }
}

/**
 * A bit of an object, or of what the edge keeps, flips where it lies. Two copies survive the loss of one, so this is never
 * one of two faults at a time: see `FaultSchedule`.
 */
export const bitRot: Fault = (cluster, name, random) => {
  const { drive } = cluster.node(name).machine
  const files = [`${DATA}/storage/journal`, `${DATA}/edge/cas`].flatMap((directory) =>
    filesIn(cluster, name, directory),
  )
  const path = files[Math.floor(random.next() * files.length)]
  if (path === undefined) return undefined
  const byte = HEADER_BYTES + Math.floor(random.next() * (drive.size(path) - HEADER_BYTES))
  drive.damage(path, byte * 8 + Math.floor(random.next() * 8))
  const lasting = cluster.striking('bit-rot', [name])
  return async () => {
    await cluster.resend()
    await repair(cluster)
    lasting[Symbol.dispose]()
  }
}

function filesIn(cluster: Cluster, name: string, directory: string): string[] {
  const { drive } = cluster.node(name).machine
  if (!drive.has(directory)) return []
  const paths = drive.list(directory).map(({ name: file }) => `${directory}/${file}`)
  return paths.filter((path) => drive.size(path) > HEADER_BYTES)
}
