/**
 * What side files know before the journal is opened: up to where the log was durable, and whose it is. That of the newest
 * log segment matters most when the segment itself is gone or cannot be read: then nothing else may say which LSNs and
 * numbers were given out, and what is written next must not seem older than what was lost.
 */
import { isKind } from '@cairn/kernel'
import { Drive, DriveDirectory, type StoreMachine } from '../drive/drive.ts'
import { decodeSegmentHeader, SEGMENT_HEADER_BYTES } from '../journal/format.ts'
import type { Watermark } from '../journal/recovery.ts'
import { segmentName, sideNumber } from '../journal/segment.ts'
import { isOf, SideFile } from './side-file.ts'
import type { SideFileFoot } from './side-file-core.ts'

const IO_TIMEOUT_MS = 5_000

export interface DurableHint {
  readonly watermark: Watermark
  readonly store: Uint8Array
}

/** The hint of the newest log segment whose side file is sound; a hint that cannot be read is none. */
export async function readDurableHint(
  machine: StoreMachine,
  path: string,
  ioTimeoutMs = IO_TIMEOUT_MS,
): Promise<DurableHint | undefined> {
  const directory = new DriveDirectory(machine.disk, new Drive(machine, ioTimeoutMs), path)
  for (const number of await sideNumbers(directory)) {
    const foot = await soundFoot(machine, directory, number)
    if (foot?.role !== 'log' || foot.entries === 0) continue
    return { watermark: { segment: number, offset: foot.coveredEnd, lsn: foot.last.lsn }, store: foot.store }
  }
  return undefined
}

async function sideNumbers(directory: DriveDirectory): Promise<number[]> {
  try {
    const numbers = (await directory.list()).flatMap(({ name }) => sideNumber(name) ?? [])
    return numbers.sort((a, b) => b - a)
  } catch (error) {
    if (isKind(error, 'NotFound')) return []
    throw error
  }
}

async function soundFoot(
  machine: StoreMachine,
  directory: DriveDirectory,
  number: number,
): Promise<SideFileFoot | undefined> {
  try {
    const { crc32 } = machine.crypto
    const side = await SideFile.open(directory, crc32, number)
    await side.close()
    const { foot } = side
    if (foot.number !== number) return undefined
    const header = await readHeaderOf(machine, directory, number)
    return header === undefined || isOf(foot, header) ? foot : undefined
  } catch (error) {
    if (isKind(error, 'Integrity') || isKind(error, 'NotFound') || isKind(error, 'Internal')) return undefined
    throw error
  }
}

async function readHeaderOf(
  { crypto }: StoreMachine,
  directory: DriveDirectory,
  number: number,
): Promise<ReturnType<typeof decodeSegmentHeader>> {
  try {
    await using file = await directory.open(segmentName(number), 'read')
    const bytes = new Uint8Array(SEGMENT_HEADER_BYTES)
    return decodeSegmentHeader(crypto.crc32, bytes.subarray(0, await directory.read(file, 0, bytes)))
  } catch (error) {
    if (isKind(error, 'NotFound')) return undefined
    throw error
  }
}
