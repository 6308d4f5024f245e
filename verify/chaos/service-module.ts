/**
 * A service from a directory of sources: its own, or a copy in which one line was changed, in it or in a package it stands on.
 *
 *     <temporary>/services/registry/src            a copy
 *     <temporary>/packages/store/src               a copy, as of every package that may be changed
 *     <temporary>/node_modules/@cairn/store   ──▶  the copy; everything else as it is here
 */
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { applyMutant, type Mutant } from '../model/mutant.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** One line of the service or of such a package, by its path from the root of this repository. */
export type SourceMutant = Omit<Mutant, 'expect'>

export interface ServiceModule<M> {
  readonly load: () => Promise<M>
  /** Hands out the service with this edit, and removes the copy again. */
  readonly withMutant: <T>(mutant: SourceMutant, use: (module: M) => Promise<T>) => Promise<T>
}

/** The service of this name, with the packages that may be changed with it; `M` is how it is opened and run. */
export function serviceModule<M extends { openParts: unknown; runParts: unknown }>(
  service: string,
  packages: readonly string[],
): ServiceModule<M> {
  const loadFrom = async (root: string): Promise<M> => {
    const source = (file: string): string => pathToFileURL(join(root, 'services', service, 'src', file)).href
    const { openParts } = (await import(source('parts.ts'))) as Pick<M, 'openParts'>
    const { runParts } = (await import(source('main.ts'))) as Pick<M, 'runParts'>
    return { openParts, runParts } as M
  }
  return {
    load: async () => await loadFrom(ROOT),
    withMutant: async (mutant, use) => {
      const copy = await mkdtemp(join(tmpdir(), `cairn-${service}-mutant-`))
      try {
        await copySources(copy, [`services/${service}`, ...packages.map((name) => `packages/${name}`)])
        await linkModules(copy, packages)
        const file = join(copy, mutant.file)
        await writeFile(file, applyMutant(await readFile(file, 'utf8'), { ...mutant, expect: '' }))
        return await use(await loadFrom(copy))
      } finally {
        await rm(copy, { recursive: true, force: true })
      }
    },
  }
}

async function copySources(copy: string, parts: readonly string[]): Promise<void> {
  for (const part of parts) {
    await cp(join(ROOT, part, 'src'), join(copy, part, 'src'), { recursive: true })
    await cp(join(ROOT, part, 'package.json'), join(copy, part, 'package.json'))
  }
}

async function linkModules(copy: string, packages: readonly string[]): Promise<void> {
  const ours = join(copy, 'node_modules/@cairn')
  await mkdir(ours, { recursive: true })
  for (const name of await readdir(join(ROOT, 'node_modules'))) {
    if (name !== '@cairn') await symlink(join(ROOT, 'node_modules', name), join(copy, 'node_modules', name))
  }
  for (const name of await readdir(join(ROOT, 'node_modules/@cairn'))) {
    const target = packages.includes(name) ? join(copy, 'packages', name) : join(ROOT, 'node_modules/@cairn', name)
    await symlink(target, join(ours, name))
  }
}
