/**
 * Uploads that count on a chunk, a delete that leaves it without a referrer, and a sweeper that marks and removes.
 *
 *     upload  ── put / missing: told that it is there, leased ─▶ commit: looks, keeps ─▶ object durable ─▶ marked, let go
 *     delete  ── the object that was there before goes
 *     sweeper ── round begins ─▶ objects read one by one ─▶ whole ─▶ candidate read back ─▶ condemned, in one step
 *
 * A promise is what an upload was told: the chunk stays for a lease time. The drive says whether it was kept.
 */
import { type Faults, type Model, type Steps, step, type Task } from '../model.ts'
import { CHUNK, type ChunkShape, type ChunkShell, createChunkShell, LEASE_TIME, type Write } from './chunk-shell.ts'
import type { StoreCores } from './cores.ts'

/**
 * What an upload does first: put the chunk, ask whether it is missing, or come back from before a restart. One that
 * leaves asks, and never commits.
 */
export type Beginning = 'put' | 'missing' | 'returns' | 'leaves'

export interface SweeperScene extends ChunkShape {
  readonly uploads: readonly Beginning[]
  readonly sweeps: number
  readonly ticks: number
  /** An object of the chunk that is there from before: kept, deleted meanwhile, or where it cannot be read. */
  readonly before?: 'kept' | 'deleted' | 'unreadable record' | 'unreadable segment'
}

interface Promised {
  readonly until: number
  /** It was told that the chunk is there, and not only that it was put in line. */
  isTold: boolean
}

/** What uploads were told, and whether it was kept. */
function createPromiseLedger(shell: ChunkShell, { before }: SweeperScene) {
  const promises = new Map<string, Promised>()
  const committed = new Set<string>()
  const state = { promises, committed, isSweptWhilePromised: false, isRefusedWhilePromised: false }
  const running = (): Promised[] => [...promises.values()].filter(({ until }) => until > shell.state.now)
  const { durable } = shell.state.appender.drive
  const hasObject = (): boolean => durable.includes('object') || (before !== undefined && !durable.includes('deletion'))
  return {
    state,
    hasObject,
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
      'object-without-chunk': hasObject() && !shell.isOnDrive(),
      'gone-while-promised': running().some(({ isTold }) => isTold) && !shell.isOnDrive(),
      'chunk-stored-twice': shell.isStoredTwice(),
    }),
  }
}

type Marks = ReturnType<StoreCores['marks']['createMarks']>
type PromiseLedger = ReturnType<typeof createPromiseLedger>

interface Parts {
  readonly cores: StoreCores
  readonly scene: SweeperScene
  readonly shell: ChunkShell
  readonly ledger: PromiseLedger
  readonly round: Marks
}

/** What uploads do, and whoever deletes the object that was there. */
function createClients({ cores, shell, ledger, round }: Parts) {
  const { leases, marks } = cores
  const { state } = shell

  function* put(upload: string): Steps<boolean> {
    yield step('puts the chunk')
    const submitted = shell.submit(upload)
    if (submitted === 'unready') return false
    ledger.promise(upload, submitted === 'present')
    if (submitted === 'present') return true
    const outcome = yield* shell.durable(submitted.write)
    if (outcome === 'durable') ledger.told(upload)
    return outcome === 'durable'
  }

  function* ask(upload: string): Steps<boolean> {
    yield step('asks whether it is missing')
    if (!shell.exists()) return false
    leases.lease(state.leases, upload, CHUNK, state.now)
    ledger.promise(upload, true)
    return true
  }

  /** The look at the chunk, and in a later step the object's record, unless something was lost in between. */
  function* prepare(upload: string, lease: string): Steps<Write | undefined> {
    for (;;) {
      const before = state.appender.losses
      if (!shell.willExist()) {
        ledger.refused(upload)
        return undefined
      }
      leases.keep(state.leases, lease, CHUNK)
      yield step('puts the object in line', before)
      if (before !== state.appender.losses) continue
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
      leases.abandonLease(state.leases, lease)
      return
    }
    marks.referredTo([CHUNK], () => reach(shell))
    leases.unlease(state.leases, upload, [CHUNK])
    ledger.committed(upload)
    yield step('lets go of the chunk')
    leases.endLease(state.leases, lease)
  }

  function* upload(self: string, beginning: Beginning): Task {
    if (beginning === 'put' && !(yield* put(self))) return
    if ((beginning === 'missing' || beginning === 'leaves') && !(yield* ask(self))) return
    if (beginning === 'leaves') return
    yield* commit(self)
  }

  function* deleter(): Task {
    yield step('deletes the object that was there')
    const removal = shell.submitRecord('deletion', false, () => undefined)
    if (removal === 'unready') return
    const outcome = yield* shell.durable(removal, { label: 'hears that it is gone' })
    if (outcome === 'durable') marks.died(round)
  }

  return { upload, deleter }
}

/** The sweeper, a round at a time. */
function createSweeper({ cores, scene, shell, ledger, round }: Parts): () => Task {
  const { leases, marks, sweep } = cores
  const { state } = shell
  const blindness = scene.before === 'unreadable segment' ? 'a segment' : undefined

  /** Those the index lists when the round begins; what is committed later marks its chunks itself. */
  function* mayReach(): Steps<void> {
    const isListed = scene.before !== undefined && scene.before !== 'unreadable segment' && !state.isDeleted
    const { objects } = state
    if (isListed) {
      yield step('reads the record of the object that was there', objects)
      if (scene.before === 'unreadable record') marks.block(round, 'a record')
      else reach(shell)
    }
    if (objects > 0) {
      yield step('reads the records of the uploads')
      reach(shell)
    }
  }

  function* condemn(): Task {
    const isCandidate = !state.isMarked && state.isIndexed
    const version = state.chunkVersion
    if (!isCandidate) return
    yield step('reads the candidate back', version)
    const facts = {
      isProved: state.isIndexed && state.chunkVersion === version,
      isMarked: state.isMarked,
      isSettled: !state.presence.has(CHUNK),
    }
    if (!sweep.mayCondemn(round, state.leases, CHUNK, facts, state.now)) return
    ledger.swept()
    const removal = shell.submitRemoval()
    const isUnready = removal === 'unready'
    const outcome = isUnready ? 'failed' : yield* shell.durable(removal, { label: 'hears of the removal' })
    if (outcome !== 'durable') marks.block(round, 'a removal failed')
  }

  function* sweeper(): Task {
    for (let sweeps = 1; sweeps <= scene.sweeps; sweeps += 1) {
      yield step('begins a round, if one is due', sweeps)
      leases.expire(state.leases, state.now)
      if (!marks.isDue(round, state.leases, state.now)) continue
      marks.beginRound(round, state.leases, blindness)
      state.isMarked = false
      yield* mayReach()
      yield step('has read every object', sweeps)
      marks.marked(round)
      yield* condemn()
      marks.endRound(round)
    }
  }

  return sweeper
}

function reach({ state }: ChunkShell): void {
  state.isMarked = true
}

export function sweeperRace(cores: StoreCores, name: string, scene: SweeperScene): Model {
  const { marks } = cores
  const setup = (): ReturnType<Model['setup']> => {
    const shell = createChunkShell(cores, scene)
    const { state } = shell
    const ledger = createPromiseLedger(shell, scene)
    const round = marks.createMarks()
    const commitLeases = (): string[] => [...state.leases.uploads.keys()].filter((each) => each.startsWith('commit'))
    const isLeased = (): boolean => [...state.leases.uploads.values()].some(({ ids }) => ids.has(CHUNK))
    const isDueOneDay = (): boolean => marks.isDue(round, state.leases, Number.POSITIVE_INFINITY)
    const parts: Parts = { cores, scene, shell, ledger, round }
    const { upload, deleter } = createClients(parts)
    const tasks: Record<string, () => Task> = { appender: shell.appender, sweeper: createSweeper(parts) }
    for (const [at, beginning] of scene.uploads.entries()) {
      const self = `upload-${at + 1}`
      if (beginning === 'returns') ledger.promise(self, true)
      tasks[self] = () => upload(self, beginning)
    }
    if (scene.before === 'deleted') tasks['deleter'] = deleter
    if (scene.ticks > 0) {
      tasks['clock'] = function* () {
        while (state.now < scene.ticks) {
          yield step('ticks')
          state.now += 1
        }
      }
    }

    return {
      state: { shell: state, history: ledger.state, round },
      tasks,
      daemons: ['appender'],
      never: () => ledger.faults(),
      // What nothing refers to and no lease keeps is gone, or a further round is due.
      neverAtEnd: () => ({
        'garbage-forgotten': shell.isOnDrive() && !ledger.hasObject() && !isLeased() && !isDueOneDay(),
      }),
      leaks: () => ({
        ...shell.leaks(),
        'leases of committed uploads': ledger.leasesLeft(),
        'leases of commits': commitLeases().length,
      }),
      eventually: () => ({ 'the line is empty': state.appender.commit.queue.length === 0 }),
    }
  }
  return { name, setup }
}
