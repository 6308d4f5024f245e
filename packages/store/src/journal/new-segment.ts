import { CairnError } from '@cairn/kernel'
import type { DiskFile } from '@cairn/platform'
import { equalBytes } from '@cairn/wire'
import type { DriveDirectory } from '../drive/directory.ts'
import { type Crc32, encodeSegmentHeader, type SegmentHeader } from './format.ts'
import { segmentName } from './segment.ts'

/**
 * Makes a log segment and proves that it can be written: create → header → sync → sync of the directory → read back.
 * Nothing is acknowledged from it before all of that succeeded, so a file cut short here never held a record.
 */
export async function createLogSegment(
  directory: DriveDirectory,
  crc32: Crc32,
  header: SegmentHeader,
): Promise<DiskFile> {
  const name = segmentName(header.number)
  const file = await directory.open(name, 'create')
  try {
    const bytes = encodeSegmentHeader(crc32, header)
    await directory.append(file, [bytes])
    await directory.sync(file)
    await directory.syncNames()
    const back = new Uint8Array(bytes.length)
    await directory.read(file, 0, back)
    if (!equalBytes(back, bytes)) throw new CairnError('Integrity', 'A new segment does not read back as written.')
    return file
  } catch (error) {
    await Promise.allSettled([file.close()])
    // Left behind it would only be one more file that never held a record.
    await Promise.allSettled([directory.unlink(name)])
    throw error
  }
}
