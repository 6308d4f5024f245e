/**
 * Fills that need the same chunk, an eviction, and the janitor that removes what nobody needs.
 *
 *     fill: count it ─▶ store it ─▶ entry         eviction: entry goes ─▶ doomed ─▶ janitor: still nobody? ─▶ removed
 */
import { type Model, step, type Task, wait } from '../model.ts'
import type { Suite } from '../suite.ts'
import type { EdgeCores } from './cores.ts'

const CHUNK = `b3:${'0'.repeat(64)}` as const

function chunks(cores: EdgeCores, name: string, fillers: number): Model {
  const core = cores.table
  const setup = (): ReturnType<Model['setup']> => {
    const table = core.createTable()
    const store = new Set<string>()
    /** Who counts on the chunk being there. */
    const history = { relying: 0, isOver: 0 }

    function* fill(): Task {
      yield step('counts the chunk')
      core.retain(table, CHUNK, 1)
      yield step('stores it')
      store.add(CHUNK)
      history.relying += 1
      yield step('is evicted')
      history.relying -= 1
      core.release(table, CHUNK)
      history.isOver += 1
    }

    function* janitor(): Task {
      for (;;) {
        yield wait('looks at a doomed chunk', () => table.doomed.size > 0)
        const [id] = table.doomed
        // The one before it in the round is still being removed.
        yield step('comes to it', { id })
        if (id !== undefined && core.takeDoomed(table, id)) store.delete(id)
      }
    }

    const tasks: Record<string, () => Task> = { janitor }
    for (let count = 1; count <= fillers; count += 1) tasks[`fill-${count}`] = fill
    return {
      state: { table, store, history },
      tasks,
      daemons: ['janitor'],
      never: () => ({
        'needed-chunk-gone': history.relying > 0 && !store.has(CHUNK),
        'bytes-below-zero': table.bytes < 0,
      }),
      neverAtEnd: () => ({ 'nobody-removes-it': store.size > 0 }),
      leaks: () => ({ counted: table.chunks.size, bytes: table.bytes }),
    }
  }
  return { name, setup }
}

export const KEPT_CHUNKS: Suite<EdgeCores> = {
  name: 'a chunk somebody counts on stays',
  smallest: (cores) => [chunks(cores, 'chunks: 2 fills', 2)],
  larger: (cores) => [chunks(cores, 'chunks: 3 fills', 3)],
  mutants: [
    {
      name: 'the janitor does not look again',
      file: 'cas/entry-table-core.ts',
      find: 'return !table.chunks.has(id)',
      replace: 'return true',
      expect: 'needed-chunk-gone',
    },
    {
      name: 'the first to go takes the chunk along',
      file: 'cas/entry-table-core.ts',
      find: 'if (use.count > 0) return',
      replace: '',
      expect: 'needed-chunk-gone',
    },
    {
      name: 'nobody is told of a chunk that nobody needs',
      file: 'cas/entry-table-core.ts',
      find: 'table.doomed.add(id)',
      replace: '',
      expect: 'nobody-removes-it',
    },
  ],
}
