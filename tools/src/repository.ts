/** The repository as the tools see it: where it is, which files it has, what its packages say of themselves. */
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Absolute path of the repository's root. */
export const REPOSITORY = fileURLToPath(new URL('../../', import.meta.url))

/** Paths below `root` that match one of the patterns, sorted, with `/`; installed packages are not ours, and built ones are made of ours. */
export function findFiles(patterns: readonly string[], root: string = REPOSITORY): string[] {
  const found = globSync([...patterns], { cwd: root, exclude: ['**/node_modules/**', '**/.git/**', 'build/**'] })
  return [...new Set(found.map((path) => path.split(sep).join('/')))].sort()
}

export interface Manifest {
  /** The folder the manifest stands in, from the root; empty for the root itself. */
  readonly folder: string
  readonly name: string
  readonly version?: string
  readonly exports?: unknown
  /** `#name` by condition. */
  readonly imports?: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly scripts?: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

/** Every package.json of the repository, the root's first. */
export function readManifests(root: string = REPOSITORY): Manifest[] {
  return findFiles(['package.json', '*/package.json', 'packages/*/package.json', 'services/*/package.json'], root)
    .map((path) => {
      const manifest = JSON.parse(readFileSync(join(root, path), 'utf8')) as Omit<Manifest, 'folder'>
      return { ...manifest, folder: path === 'package.json' ? '' : dirname(path) }
    })
    .sort((a, b) => (a.folder < b.folder ? -1 : 1))
}
