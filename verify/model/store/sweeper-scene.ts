/**
 * Uploads that count on a chunk, and a sweeper that wants it gone.
 *
 *     upload ── put / missing: told that it is there, leased ──▶ commit: looks, keeps ──▶ object in line ──▶ durable
 *     sweeper ── index flushed ──▶ settled, unreferenced, unleased? ── removal in line, in the same step
 *
 * A promise is what an upload was told: the chunk stays for a lease time. The drive says whether it was kept.
 */
import { type Faults, type Model, type Steps, step, type Task } from '../model.ts'
import { CHUNK, type ChunkShape, type ChunkShell, createChunkShell, LEASE_TIME, type Write } from './chunk-shell.ts'
import type { StoreCores } from './cores.ts'

/** What an upload does first: put the chunk, ask whether it is missing, or come back from before a restart. */
export type Beginning = 'put' | 'missing' | 'returns'

export interface SweeperScene extends ChunkShape {
  readonly uploads: readonly Beginning[]
  readonly sweeps: number
  readonly ticks: number
}

interface Promised {
  readonly until: number
  /** It was told that the chunk is there, and not only that it was put in line. */
  isTold: boolean
}

/** What uploads were told, and whether it was kept. */
function createPromiseBook(shell: ChunkShell) {
  const promises = new Map<string, Promised>()
  const committed = new Set<string>()
  const state = { promises, committed, isSweptWhilePromised: false, isRefusedWhilePromised: false }
  const running = (): Promised[] => [...promises.values()].filter(({ until }) => until > shell.state.now)
  return {
    state,
    promise(upload: string, isTold: boolean): void {
      promises.set(upload, { until: shell.state.now + LEASE_TIME, isTold })
    },
    told(upload: string): void {
      const promised = promises.get(upload)
      if (promised !== undefined) promised.isTold = true
    },
    refused(upload: string): void {
      const promised = promises.get(upload)
      if (promised !== undefined && promised.until > shell.state.now) state.isRefusedWhilePromised = true
    },
    committed(upload: string): void {
      promises.delete(upload)
      committed.add(upload)
    },
    swept(): void {
      if (running().length > 0) state.isSweptWhilePromised = true
    },
    leasesLeft: (): number => [...committed].filter((each) => shell.state.leases.uploads.has(each)).length,
    faults: (): Faults => ({
      'swept-while-promised': state.isSweptWhilePromised,
      'refused-while-promised': state.isRefusedWhilePromised,
      'object-without-chunk': shell.state.drive.durable.includes('object') && !shell.isOnDrive(),
      'gone-while-promised': running().some(({ isTold }) => isTold) && !shell.isOnDrive(),
      'chunk-stored-twice': shell.isStoredTwice(),
    }),
  }
}

export function sweeperRace(cores: StoreCores, name: string, scene: SweeperScene): Model {
  const { leases } = cores
  const setup = (): ReturnType<Model['setup']> => {
    const shell = createChunkShell(cores, scene)
    const { state } = shell
    const book = createPromiseBook(shell)
    /** Commits whose object the index does not know yet, and where in the log it is. */
    const keeping = new Map<string, number>()
    const index = { isReferenced: false }
    const commitLeases = (): string[] => [...state.leases.uploads.keys()].filter((each) => each.startsWith('commit'))

    function* put(upload: string): Steps<boolean> {
      yield step('puts the chunk')
      const submitted = shell.submit(upload)
      if (submitted === 'unready') return false
      book.promise(upload, submitted === 'present')
      if (submitted === 'present') return true
      const outcome = yield* shell.durable(submitted.write)
      if (outcome === 'durable') book.told(upload)
      return outcome === 'durable'
    }

    function* ask(upload: string): Steps<boolean> {
      yield step('asks whether it is missing')
      if (!shell.exists()) return false
      leases.lease(state.leases, upload, CHUNK, state.now)
      book.promise(upload, true)
      return true
    }

    /** The look at the chunk, and in a later step the object's record, unless something was lost in between. */
    function* prepare(upload: string, lease: string): Steps<Write | undefined> {
      for (;;) {
        const before = state.losses
        if (!shell.willExist()) {
          book.refused(upload)
          return undefined
        }
        leases.keep(state.leases, lease, CHUNK)
        yield step('puts the object in line', before)
        if (before !== state.losses) continue
        const write = shell.submitRecord('object', false, () => undefined)
        return write === 'unready' ? undefined : write
      }
    }

    function* commit(upload: string): Task {
      yield step('commits the object')
      const lease = `commit of ${upload}`
      const write = yield* prepare(upload, lease)
      const outcome = write === undefined ? 'failed' : yield* shell.durable(write, { label: 'hears of the object' })
      if (outcome !== 'durable') {
        leases.endLease(state.leases, lease)
        return
      }
      keeping.set(lease, state.drive.durable.length)
      leases.unlease(state.leases, upload, [CHUNK])
      book.committed(upload)
    }

    function* upload(self: string, beginning: Beginning): Task {
      if (beginning === 'put' && !(yield* put(self))) return
      if (beginning === 'missing' && !(yield* ask(self))) return
      yield* commit(self)
    }

    function* flush(): Steps<void> {
      yield step('begins a batch of the index')
      const batch = { isCommitted: state.isCommitted, end: state.drive.durable.length }
      yield step('has the batch in the index', batch)
      index.isReferenced = batch.isCommitted
      for (const [lease, at] of keeping) {
        if (at > batch.end) continue
        keeping.delete(lease)
        leases.endLease(state.leases, lease)
      }
    }

    function* sweeper(): Task {
      for (let round = 1; round <= scene.sweeps; round += 1) {
        yield* flush()
        yield step('looks at the chunk', round)
        const isSettled = !state.presence.has(CHUNK) && state.isIndexed
        if (!leases.maySweep(state.leases, CHUNK, { isSettled, ...index }, state.now)) continue
        book.swept()
        const removal = shell.submitRemoval()
        if (removal !== 'unready') yield* shell.durable(removal, { label: `hears of removal ${round}` })
      }
    }

    const tasks: Record<string, () => Task> = { appender: shell.appender, sweeper }
    for (const [at, beginning] of scene.uploads.entries()) {
      const self = `upload-${at + 1}`
      if (beginning === 'returns') book.promise(self, true)
      tasks[self] = () => upload(self, beginning)
    }
    if (scene.ticks > 0) {
      tasks['clock'] = function* () {
        while (state.now < scene.ticks) {
          yield step('ticks')
          state.now += 1
        }
      }
    }

    return {
      state: { shell: state, book: book.state, keeping, index },
      tasks,
      daemons: ['appender'],
      never: () => book.faults(),
      leaks: () => ({
        ...shell.leaks(),
        'leases of committed uploads': book.leasesLeft(),
        'leases of failed commits': commitLeases().filter((each) => !keeping.has(each)).length,
      }),
      eventually: () => ({ 'the line is empty': state.commit.queue.length === 0 }),
    }
  }
  return { name, setup }
}
