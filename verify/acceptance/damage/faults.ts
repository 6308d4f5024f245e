/** What is done to a file: bits flipped, cut, zeroed, deleted, or an older copy in its place. */
import {
  closeSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import type { Random } from '@cairn/kernel'

export const FAULTS = ['flip', 'cut', 'zero-head', 'zero-middle', 'delete', 'older'] as const
export type Fault = (typeof FAULTS)[number]

const BITS_MAX = 400
const HEAD_BYTES = 4096
const MIDDLE_MAX = 65_536

/** Does it in place, as a drive would; what was done in words, or undefined if this file cannot be damaged so. */
export function damage(file: string, fault: Fault, random: Random, older: Buffer | undefined): string | undefined {
  const { size } = statSync(file)
  const below = (bound: number): number => Math.floor(random.next() * bound)
  switch (fault) {
    case 'delete':
      rmSync(file)
      return 'deleted'
    case 'older': {
      if (older === undefined || older.equals(readFileSync(file))) return undefined
      writeFileSync(`${file}.older`, older)
      renameSync(`${file}.older`, file)
      return `an older copy of ${older.length} bytes`
    }
    case 'cut': {
      if (size === 0) return undefined
      const left = below(size)
      truncateSync(file, left)
      return `cut to ${left} of ${size} bytes`
    }
    case 'zero-head':
      return size === 0 ? undefined : zero(file, 0, Math.min(size, HEAD_BYTES))
    case 'zero-middle': {
      if (size < 3) return undefined
      const length = Math.min(1 + below(MIDDLE_MAX), size >> 1)
      return zero(file, below(size - length), length)
    }
    case 'flip': {
      if (size === 0) return undefined
      const bits = 1 + below(random.next() < 0.5 ? 8 : BITS_MAX)
      const bytes = readFileSync(file)
      const at = Array.from({ length: bits }, () => below(bytes.length))
      for (const place of at) bytes[place] = (bytes[place] ?? 0) ^ (1 << below(8))
      const descriptor = openSync(file, 'r+')
      for (const place of at) writeSync(descriptor, bytes, place, 1, place)
      closeSync(descriptor)
      return `${bits} bits flipped`
    }
  }
}

function zero(file: string, from: number, length: number): string {
  const descriptor = openSync(file, 'r+')
  writeSync(descriptor, Buffer.alloc(length), 0, length, from)
  closeSync(descriptor)
  return `${length} bytes zeroed from ${from}`
}
