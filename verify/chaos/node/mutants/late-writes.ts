/** Loaded into a node before it starts: what it appends to a segment reaches the file a second later than it says. */
import { SystemClock } from '@cairn/kernel'
import { DriveDirectory } from '../../../../packages/store/src/drive/drive.ts'

const LATE_MS = 1_000
const clock = new SystemClock()
// oxlint-disable-next-line typescript/unbound-method -- called below, with its `this`
const append = DriveDirectory.prototype.append
const ends = new Map<string, number>()

DriveDirectory.prototype.append = async function (file, buffers) {
  const offset = ends.get(file.path) ?? (await file.size())
  const copies = buffers.map((buffer) => buffer.slice())
  ends.set(file.path, offset + copies.reduce((sum, { length }) => sum + length, 0))
  // The header is read back at once; a lie about it would be found out before anything is promised.
  if (offset === 0) return await append.call(this, file, copies)
  clock.timer(LATE_MS, () => {
    append.call(this, file, copies).catch(() => undefined)
  })
  return offset
}
