/**
 * The registry from a directory of sources: its own, or a copy in which one line was changed, in it or in its store.
 *
 *     <temporary>/services/registry/src            a copy
 *     <temporary>/packages/store/src               a copy
 *     <temporary>/node_modules/@cairn/store   ──▶  the copy; everything else as it is here
 */
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { applyMutant, type Mutant } from '../../model/mutant.ts'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const REGISTRY = 'services/registry'
const STORE = 'packages/store'

export interface RegistryModule {
  readonly openParts: typeof import('../../../services/registry/src/parts.ts').openParts
  readonly runParts: typeof import('../../../services/registry/src/main.ts').runParts
}

/** One line of the registry or its store, by its path from the root of this repository. */
export type SourceMutant = Omit<Mutant, 'expect'>

export async function loadRegistry(root = ROOT): Promise<RegistryModule> {
  const source = (file: string): string => pathToFileURL(join(root, REGISTRY, 'src', file)).href
  const { openParts } = (await import(source('parts.ts'))) as Pick<RegistryModule, 'openParts'>
  const { runParts } = (await import(source('main.ts'))) as Pick<RegistryModule, 'runParts'>
  return { openParts, runParts }
}

/** Hands out the registry with this edit, and removes the copy again. */
export async function withRegistryMutant<T>(
  mutant: SourceMutant,
  use: (registry: RegistryModule) => Promise<T>,
): Promise<T> {
  const copy = await mkdtemp(join(tmpdir(), 'cairn-registry-mutant-'))
  try {
    for (const part of [REGISTRY, STORE]) {
      await cp(join(ROOT, part, 'src'), join(copy, part, 'src'), { recursive: true })
      await cp(join(ROOT, part, 'package.json'), join(copy, part, 'package.json'))
    }
    await linkModules(copy)
    const file = join(copy, mutant.file)
    await writeFile(file, applyMutant(await readFile(file, 'utf8'), { ...mutant, expect: '' }))
    return await use(await loadRegistry(copy))
  } finally {
    await rm(copy, { recursive: true, force: true })
  }
}

async function linkModules(copy: string): Promise<void> {
  const ours = join(copy, 'node_modules/@cairn')
  await mkdir(ours, { recursive: true })
  for (const name of await readdir(join(ROOT, 'node_modules'))) {
    if (name !== '@cairn') await symlink(join(ROOT, 'node_modules', name), join(copy, 'node_modules', name))
  }
  for (const name of await readdir(join(ROOT, 'node_modules/@cairn'))) {
    const target = name === 'store' ? join(copy, STORE) : join(ROOT, 'node_modules/@cairn', name)
    await symlink(target, join(ours, name))
  }
}
