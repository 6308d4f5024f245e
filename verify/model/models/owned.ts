/**
 * Two tasks change one owned state with thinking time in between: read, think, commit against the version
 * that was read, and start over when somebody else was faster. No change is lost.
 */
import { type Model, step, type Task } from '../model.ts'
import type { Suite } from '../suite.ts'
import type { KernelCores } from './cores.ts'

function commitAgainstVersion(cores: KernelCores, name: string, tasks: readonly string[]): Model {
  const setup = (): ReturnType<Model['setup']> => {
    const owned = new cores.owned.Owned<readonly string[]>([])

    function* author(self: string): Task {
      for (;;) {
        yield step('reads')
        const { value, version } = owned.read()
        yield step('commits what it made of it', [value, version])
        if (owned.commit(version, [...value, self]) !== undefined) return
      }
    }

    return {
      state: {
        get owned() {
          return owned.read()
        },
      },
      tasks: Object.fromEntries(tasks.map((self) => [self, () => author(self)])),
      neverAtEnd: () => ({ 'change-lost': owned.read().value.length !== tasks.length }),
      eventually: () => ({ 'everybody commits': owned.read().value.length === tasks.length }),
    }
  }
  return { name, setup }
}

export const OWNED: Suite<KernelCores> = {
  name: 'owned state',
  smallest: (cores) => [commitAgainstVersion(cores, 'owned: 2 authors', ['author-1', 'author-2'])],
  larger: (cores) => [
    commitAgainstVersion(cores, 'owned: 4 authors', ['author-1', 'author-2', 'author-3', 'author-4']),
  ],
  mutants: [
    {
      name: 'a stale commit is taken',
      file: 'task/owned.ts',
      find: 'if (version !== this.#version) return undefined',
      replace: '',
      expect: 'change-lost',
    },
    {
      name: 'a commit does not raise the version',
      file: 'task/owned.ts',
      find: 'this.#version += 1',
      replace: '',
      expect: 'change-lost',
    },
  ],
}
