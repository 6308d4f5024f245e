/**
 * A copy of a committed tree, in which one line at a time is changed.
 *
 *     <temporary>/tree/…                        what git has at the revision, with this directory laid over it
 *     <temporary>/tree/node_modules/@cairn/… ─▶ the workspaces of the copy
 *     <temporary>/tree/node_modules/…        ─▶ everything else as it is here
 */
import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { applyMutant } from '../model/mutant.ts'
import type { PlantedFault } from './planted-faults.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const OURS = 'verify/sensitivity'
/** Made anew by whoever runs there. */
const NOT_LINKED: readonly string[] = ['@cairn', '.cache']

export class Tree implements Disposable {
  readonly root: string
  readonly revision: string
  readonly #place: string

  constructor(revision: string) {
    this.revision = git('rev-parse', '--short', revision)
    this.#place = mkdtempSync(join(tmpdir(), 'cairn-sensitivity-'))
    this.root = join(this.#place, 'tree')
    mkdirSync(this.root)
    const archive = join(this.#place, 'tree.tar')
    git('archive', '--output', archive, this.revision)
    execFileSync('tar', ['-xf', archive, '-C', this.root])
    cpSync(join(ROOT, OURS), join(this.root, OURS), { recursive: true })
    this.#linkModules()
  }

  /** Trees from before there was a simulator of whole nodes have none. */
  get hasSimulator(): boolean {
    return existsSync(join(this.root, 'verify/simulator'))
  }

  /** Runs `use` while the plant is in the tree; without a plant the tree is as it was committed. */
  async with<T>(planted: PlantedFault | undefined, use: () => Promise<T>): Promise<T> {
    if (planted === undefined) return await use()
    const path = join(this.root, planted.file)
    const sound = readFileSync(path, 'utf8')
    writeFileSync(path, applyMutant(sound, { ...planted, expect: '' }))
    try {
      return await use()
    } finally {
      writeFileSync(path, sound)
    }
  }

  [Symbol.dispose](): void {
    rmSync(this.#place, { recursive: true, force: true })
  }

  #linkModules(): void {
    const [from, to] = [join(ROOT, 'node_modules'), join(this.root, 'node_modules')]
    mkdirSync(join(to, '@cairn'), { recursive: true })
    for (const name of readdirSync(from)) if (!NOT_LINKED.includes(name)) symlinkSync(join(from, name), join(to, name))
    // These lead to the workspaces from where they stand: so do the same ones in the copy.
    for (const name of readdirSync(join(from, '@cairn')))
      symlinkSync(readlinkSync(join(from, '@cairn', name)), join(to, '@cairn', name))
  }
}

function git(...words: readonly string[]): string {
  return execFileSync('git', ['-C', ROOT, ...words], { encoding: 'utf8' }).trim()
}
