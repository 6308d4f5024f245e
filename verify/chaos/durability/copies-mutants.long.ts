/** The simulator of drives and nodes with copies finds what is planted: each a line of the source, in a copy of the service. */
import assert from 'node:assert/strict'
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { applyMutant, diffOf, type Mutant } from '../../model/mutant.ts'

const ROOT = new URL('../../../', import.meta.url)
const SERVICE = new URL('services/storage/', ROOT)
const SEEDS_MAX = 200

interface Simulation {
  readonly simulateDrives: (seed: number) => Promise<unknown>
  readonly simulateNodes: (seed: number) => Promise<unknown>
}

const MUTANTS: readonly Mutant[] = [
  {
    name: 'a put is told with one copy',
    file: 'src/replication/replicas.ts',
    find: 'const next = chooseCopies(order, this.copies - stored.length, mayUse)',
    replace: 'const next = chooseCopies(order, 1 - stored.length, mayUse)',
    expect: '',
  },
  {
    name: 'fewer copies than promised count as enough',
    file: 'src/replication/replicas.ts',
    find: 'if (!this.#options.allowsDegraded()) throw underReplicated(made, wanted)',
    replace: '',
    expect: '',
  },
  {
    name: 'what is missing is not copied again',
    file: 'src/replication/repair-core.ts',
    find: '...copiesToMake(order, holders, newest.version, by),',
    replace: '',
    expect: '',
  },
  {
    name: 'an older copy beats the delete',
    file: 'src/targets/version-core.ts',
    find: 'if (a.version !== b.version) return a.version > b.version',
    replace: "if (a.tag !== b.tag) return a.tag === 'object'",
    expect: '',
  },
]

/** A service with the fault in it, beside everything it is made of. */
async function withFault(mutant: Mutant, use: (simulation: Simulation) => Promise<string>): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'cairn-mutant-'))
  try {
    const copy = join(directory, 'services/storage')
    await cp(SERVICE, copy, { recursive: true, filter: (path) => !path.includes('node_modules') })
    await writeFile(join(directory, 'package.json'), '{ "type": "module" }')
    for (const name of ['verify', 'packages', 'node_modules'])
      await symlink(fileURLToPath(new URL(name, ROOT)), join(directory, name))
    const file = join(copy, mutant.file)
    await writeFile(file, applyMutant(await readFile(file, 'utf8'), mutant))
    return await use((await import(pathToFileURL(`${copy}/test/copies-simulation.ts`).href)) as Simulation)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

async function firstComplaint({ simulateDrives, simulateNodes }: Simulation): Promise<string> {
  for (let seed = 1; seed <= SEEDS_MAX; seed += 1)
    for (const [name, simulate] of [
      ['drives', simulateDrives],
      ['nodes', simulateNodes],
    ] as const) {
      try {
        await simulate(seed)
      } catch (error) {
        return `seed ${seed} of ${name}: ${String(error).split('\n')[0]}`
      }
    }
  return ''
}

for (const mutant of MUTANTS) {
  test(`the planted error is found: ${mutant.name}`, async (t) => {
    const complaint = await withFault(mutant, firstComplaint)
    t.diagnostic(`${await diffOf(SERVICE, mutant)}\n  ${complaint || 'not found'}`)
    assert.notEqual(complaint, '')
  })
}
