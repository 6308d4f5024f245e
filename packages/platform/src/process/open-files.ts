import { readFileSync } from 'node:fs'

/** How many files and connections this process may have open; nothing where the system does not say. */
export function openFilesLimit(read: () => string = readLimits): number | undefined {
  let text: string
  try {
    text = read()
  } catch {
    return undefined
  }
  return softLimitIn(text)
}

function readLimits(): string {
  return readFileSync('/proc/self/limits', 'latin1')
}

/** Node raises the soft limit to the hard one when it starts, so the first number is the one that counts. */
function softLimitIn(limits: string): number | undefined {
  const soft = /^Max open files\s+(\d+)\s/m.exec(limits)?.[1]
  return soft === undefined ? undefined : Number(soft)
}
