import { readFile } from 'node:fs/promises'

/** A file the configuration names, from the machine itself: amnesia keeps what it writes in memory, and may read. */
export async function readOperatorFile(path: string): Promise<Uint8Array | undefined> {
  try {
    return await readFile(path)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}
