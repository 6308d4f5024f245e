/**
 * A process to be killed: puts a load on a storage on the real disk and says on its standard output, synchronously,
 * what it begins and what it was promised. Usage: `node kill-writer.ts DIRECTORY SEED`.
 */
import { writeSync } from 'node:fs'
import { SeededRandom } from '@cairn/kernel/testing'
import { DriveStore } from '@cairn/store'
import { Ledger } from './ledger.ts'
import { realMachine } from './real-machine.ts'
import { LOAD_OPTIONS, releaseAll, runLoad } from './storage-load.ts'

const CLIENTS = 8

const [directory = '', seed = '1'] = process.argv.slice(2)
const ledger = new Ledger((label) => void writeSync(1, `${label}\n`))
const storage = await DriveStore.open(realMachine(), { ...LOAD_OPTIONS, path: directory })
writeSync(1, 'open\n')
await releaseAll(storage, ledger, CLIENTS)
// Far more than it will live to do.
await runLoad({ storage, ledger, random: new SeededRandom(Number(seed)), clients: CLIENTS, requestsEach: 1_000_000 })
