/** The files of a data directory beside the records, and what may be expected of a node that finds one damaged. */
import { type Dirent, readdirSync } from 'node:fs'
import { join, relative } from 'node:path'

/**
 * copy      made from the records, or a cache: the node goes on without it and makes it anew
 * needed    nothing else knows it (keys, lists, witnesses): the node may refuse, by the name of the file, until it is back
 */
export type FileClass = 'copy' | 'needed'

export interface TargetFile {
  /** From the data directory, with `/`. */
  readonly path: string
  readonly class: FileClass
}

/** The records themselves. */
const RECORDS = /\.seg$/
/** What only a running process has, or holds nothing. */
const NO_DATA = /(?:^|\/)(?:lock\.db|lock\.mdb|\.gitignore|[^/]*\.sock|[^/]*\.tmp)$/
const NEEDED = [
  /^format$/,
  /^keys\//,
  /^admin\.token$/,
  /^registry\/(?:keys\/|signer\.key$|HEAD$|trust\.json$|restored$)/,
  // Where drives are, and who.
  /(?:^|\/)(?:drives|drive|store)\.json$/,
  // How much there was: what stands against records that vanish.
  /(?:^|\/)[^/]*(?:witness|pin)[^/]*$/,
]

export function targetsOf(data: string): readonly TargetFile[] {
  return filesBelow(data)
    .filter((path) => !RECORDS.test(path) && !NO_DATA.test(path))
    .map((path) => ({ path, class: NEEDED.some((pattern) => pattern.test(path)) ? 'needed' : 'copy' }))
}

function filesBelow(data: string): string[] {
  const isFile = (entry: Dirent): boolean => entry.isFile()
  return readdirSync(data, { recursive: true, withFileTypes: true })
    .filter(isFile)
    .map((entry) => relative(data, join(entry.parentPath, entry.name)))
    .sort()
}
