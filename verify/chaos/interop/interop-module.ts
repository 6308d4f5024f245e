/**
 * Interop from a directory of sources: its own, or a copy in which one line was changed, in it, its mailbox or its store.
 *
 *     <temporary>/services/interop/src               a copy
 *     <temporary>/packages/{mailbox,store}/src       copies
 *     <temporary>/node_modules/@cairn/…         ──▶  the copies; everything else as it is here
 */
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { applyMutant, type Mutant } from '../../model/mutant.ts'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const INTEROP = 'services/interop'
const COPIED: Readonly<Record<string, string>> = { mailbox: 'packages/mailbox', store: 'packages/store' }

export interface InteropModule {
  readonly openParts: typeof import('../../../services/interop/src/parts.ts').openParts
  readonly runParts: typeof import('../../../services/interop/src/main.ts').runParts
}

/** One line of interop, its mailbox or its store, by its path from the root of this repository. */
export type SourceMutant = Omit<Mutant, 'expect'>

export async function loadInterop(root = ROOT): Promise<InteropModule> {
  const source = (file: string): string => pathToFileURL(join(root, INTEROP, 'src', file)).href
  const { openParts } = (await import(source('parts.ts'))) as Pick<InteropModule, 'openParts'>
  const { runParts } = (await import(source('main.ts'))) as Pick<InteropModule, 'runParts'>
  return { openParts, runParts }
}

/** Hands out interop with this edit, and removes the copy again. */
export async function withInteropMutant<T>(
  mutant: SourceMutant,
  use: (interop: InteropModule) => Promise<T>,
): Promise<T> {
  const copy = await mkdtemp(join(tmpdir(), 'cairn-interop-mutant-'))
  try {
    for (const part of [INTEROP, ...Object.values(COPIED)]) {
      await cp(join(ROOT, part, 'src'), join(copy, part, 'src'), { recursive: true })
      await cp(join(ROOT, part, 'package.json'), join(copy, part, 'package.json'))
    }
    await linkModules(copy)
    const file = join(copy, mutant.file)
    await writeFile(file, applyMutant(await readFile(file, 'utf8'), { ...mutant, expect: '' }))
    return await use(await loadInterop(copy))
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
    const part = COPIED[name]
    const target = part === undefined ? join(ROOT, 'node_modules/@cairn', name) : join(copy, part)
    await symlink(target, join(ours, name))
  }
}
