/** What the journal of a stopped registry holds, read from outside. */
import { Journal } from '@cairn/store'
import { parseCheckpoint, parseNote } from '@cairn/tlog'
import { toHex } from '@cairn/wire'
import { isLeaf, KIND, numberOf } from '../src/domain/record.ts'
import { DIRECTORY, type TestService } from './harness.ts'

export interface JournalRecords {
  /** Every root that was ever signed, by the size it was signed for. */
  readonly roots: ReadonlyMap<number, ReadonlySet<string>>
  /** Entries by index, as text. */
  readonly entries: readonly string[]
}

/** Kills what runs on the machine and reads its journal in a life of its own. */
export async function readRecords({ world, machine }: TestService): Promise<JournalRecords> {
  machine.kill()
  const platform = machine.start()
  const read = async (): Promise<JournalRecords> => {
    const roots = new Map<number, Set<string>>()
    const entries: string[] = []
    const journal = await Journal.open(platform, { path: `${DIRECTORY}/journal`, sink: () => undefined })
    for await (const event of journal.replay()) {
      if (event.tag === 'damage') continue
      if (isLeaf(event.kind)) entries[numberOf(event.id)] = new TextDecoder().decode(event.payload)
      if (event.kind !== KIND.checkpoint) continue
      const { size, root } = parseCheckpoint(parseNote(event.payload).text)
      roots.set(size, (roots.get(size) ?? new Set()).add(toHex(root)))
    }
    await journal.close()
    await platform.workers.close()
    return { roots, entries }
  }
  const records = await world.run(read())
  machine.kill()
  return records
}
