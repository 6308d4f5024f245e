import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { describe, test } from 'node:test'
import type * as DataDirectory from '../../packages/platform/src/data/data-directory.ts'
import type * as Store from '../../packages/store/src/drive-store.ts'
import { diffOf, withMutant } from '../model/mutant.ts'
import { checkPowerCuts, checkPowerCutsAfterKills } from '../virtual/data-directory-check.ts'
import { runCampaign } from './power-cut.ts'
import { PLATFORM_SYNCS, STORE_LIES, STORE_SYNCS, type SyncMutant } from './sync-mutants.ts'

const STORE = new URL('../../packages/store/src/', import.meta.url)
const PLATFORM = new URL('../../packages/platform/src/', import.meta.url)
const SEEDS_MAX = 12
const CUTS = 150
/** A campaign for each: only every fourth of them, unless there is time. */
const STEP = process.env['CAIRN_LONG'] === '1' ? 1 : 4

/** The first complaint of the power-cut campaign about the store in this directory. */
async function storeComplaint(directory: URL, { seed: likely = 1, fates }: SyncMutant): Promise<string | undefined> {
  const { DriveStore } = (await import(new URL('drive-store.ts', directory).href)) as typeof Store
  const others = Array.from({ length: SEEDS_MAX }, (_, at) => at + 1).filter((seed) => seed !== likely)
  for (const seed of [likely, ...others]) {
    try {
      await runCampaign({ seed, cuts: CUTS, storage: DriveStore, fates })
    } catch (error) {
      return String(error)
    }
  }
  return undefined
}

async function platformComplaint(directory: URL): Promise<string | undefined> {
  const file = new URL('data/data-directory.ts', directory)
  const { openDataDirectory } = (await import(file.href)) as typeof DataDirectory
  try {
    await checkPowerCuts(openDataDirectory)
    await checkPowerCutsAfterKills(openDataDirectory)
    return undefined
  } catch (error) {
    return String(error)
  }
}

function testMutants(
  source: URL,
  syncMutants: readonly SyncMutant[],
  complaint: (directory: URL, syncMutant: SyncMutant) => Promise<string | undefined>,
): void {
  for (const syncMutant of syncMutants.filter((_, at) => at % STEP === 0)) {
    test(syncMutant.name, async (t) => {
      const look = async (directory: URL): Promise<string | undefined> => await complaint(directory, syncMutant)
      const found = await withMutant(source, { ...syncMutant, expect: '' }, look)
      t.diagnostic(`${await diffOf(source, { ...syncMutant, expect: '' })}\n${found ?? 'not found'}`)
      // A campaign that could not run has found nothing.
      assert.doesNotMatch(found ?? 'not found', /^(?:not found|TypeError|ReferenceError|SyntaxError)/)
    })
  }
}

describe('the power-cut campaign misses a sync of the store', () => testMutants(STORE, STORE_SYNCS, storeComplaint))
describe('the power-cut campaign finds a lie of the store', () => testMutants(STORE, STORE_LIES, storeComplaint))
describe('the power-cut check misses a sync of the data directory', () =>
  testMutants(PLATFORM, PLATFORM_SYNCS, platformComplaint))

test('every sync of the store is among those taken out', async () => {
  const places: string[] = []
  for (const file of await readdir(STORE, { recursive: true })) {
    // The drive is only the way to the disk; who asks for a sync is above it.
    if (!file.endsWith('.ts') || /\.(test|prop)\.ts$|^drive\//.test(file)) continue
    const lines = (await readFile(new URL(file, STORE), 'utf8')).split('\n')
    const asks = lines.filter((line) => /await [\w.#]*\b(sync|syncNames|syncDirectory|makeDirectories)\(/.test(line))
    for (const line of asks.filter((each) => !each.includes('this.#sync()'))) places.push(`${file}: ${line.trim()}`)
  }
  assert.deepEqual(places.sort(), STORE_SYNCS.map(({ file, find }) => `${file}: ${find}`).sort())
})
