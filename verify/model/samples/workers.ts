/**
 * The copy-paste workers of the five design notes, as models, each marked with what it must show.
 *
 * All of them share the scene the notes' own checks ask for: one listener that accepts two jobs with
 * `try_send` into `mpsc(2)`, one worker, one supervisor that says `shutdown` once. A job is *accepted*
 * when the listener has answered 202 for it; after that somebody must finish it or answer for it.
 *
 *     listener ──▶ mpsc(2) ──▶ worker
 *     supervisor ── watch ──────▲
 */
import { type Model, select, step, type Task, wait } from '../model.ts'
import {
  createMpsc,
  isChanged,
  isReceivable,
  subscribeTo,
  type TokioMpsc,
  type TokioWatchReceiver,
  takeChange,
  trySendTo,
} from './tokio.ts'

/** What a sample does wrong; none for the version that is right. */
export type SampleFault = 'lost-shutdown' | 'stranded-job' | 'interrupted-job'

export interface Sample {
  readonly model: Model
  /** Exactly the faults an exhaustive search finds, sorted. */
  readonly expect: readonly SampleFault[]
  readonly schedules: ScheduleCounts
}

/** How many schedules there are, and how many of them lose the shutdown, interrupt a job, strand one. */
export interface ScheduleCounts {
  readonly total: number
  readonly lost: number
  readonly interrupted: number
  readonly stranded: number
}

interface Scene {
  readonly work: TokioMpsc
  readonly shutdown: TokioWatchReceiver
  readonly config: TokioWatchReceiver
  /** The supervisor has said `shutdown`; the level-triggered workers look here. */
  isDraining: boolean
  readonly accepted: string[]
  readonly done: string[]
  readonly interrupted: string[]
  isWorkerEnded: boolean
}

type Worker = (scene: Scene) => Task

interface SampleShape {
  readonly name: string
  readonly worker: Worker
  readonly expect: readonly SampleFault[]
  readonly schedules: ScheduleCounts
  /** The listener stops taking work and drops its sender at shutdown. */
  readonly closesIntake?: boolean
  /** A reloader sends one new configuration. */
  readonly reloads?: boolean
}

function sample({ name, worker, expect, schedules, closesIntake = false, reloads = false }: SampleShape): Sample {
  const setup = (): ReturnType<Model['setup']> => {
    const shutdown = { version: 0 }
    const config = { version: 0 }
    const scene: Scene = {
      work: createMpsc(2),
      shutdown: subscribeTo(shutdown),
      config: subscribeTo(config),
      isDraining: false,
      accepted: [],
      done: [],
      interrupted: [],
      isWorkerEnded: false,
    }
    const tasks: Record<string, () => Task> = {
      listener: closesIntake ? () => listenAndClose(scene) : () => listen(scene),
      *worker() {
        yield* worker(scene)
        scene.isWorkerEnded = true
        scene.work.isReceiverAlive = false
      },
      *supervisor() {
        yield step('says shutdown')
        shutdown.version += 1
        scene.isDraining = true
      },
    }
    if (reloads) {
      tasks['reloader'] = function* () {
        yield step('sends a new configuration')
        config.version += 1
      }
    }
    return {
      state: scene,
      tasks,
      neverAtEnd: () => ({
        'lost-shutdown': !scene.isWorkerEnded,
        'stranded-job': scene.isWorkerEnded && scene.work.items.length > 0,
        'interrupted-job': scene.interrupted.length > 0,
      }),
    }
  }
  return { model: { name, setup }, expect, schedules }
}

/** Accepts what arrives while the service runs; what arrives while it drains is refused with 503. */
function* listen(scene: Scene): Task {
  for (const job of ['job 1', 'job 2']) {
    yield step(`is offered ${job}`)
    if (!scene.isDraining && trySendTo(scene.work, job) === 'sent') scene.accepted.push(job)
  }
}

/** The same; and when the service drains it drops its sender, which closes the queue. */
function* listenAndClose(scene: Scene): Task {
  yield* listen(scene)
  yield wait('drops its sender', () => scene.isDraining)
  scene.work.senders -= 1
}

function receive(work: TokioMpsc): string | undefined {
  return work.items.shift()
}

/** svc-edge §11: both the outer loop and the retry loop wait for `changed()` on the one receiver. */
function* edgeWorker({ work, shutdown, done, interrupted }: Scene): Task {
  for (;;) {
    const first = yield select('waits', { shutdown: () => isChanged(shutdown), job: () => isReceivable(work) })
    if (first === 'shutdown') {
      takeChange(shutdown)
      return
    }
    const job = receive(work)
    if (job === undefined) return
    const second = yield select(`fills ${job}`, { shutdown: () => isChanged(shutdown), fetched: () => true }, { job })
    if (second === 'shutdown') {
      takeChange(shutdown)
      interrupted.push(job)
    } else {
      done.push(job)
    }
  }
}

/** svc-storage, svc-registry and svc-interop §11: the job itself is safe, the ones behind it are not. */
function* breakingWorker({ work, shutdown, done }: Scene): Task {
  for (;;) {
    const first = yield select('waits', { shutdown: () => isChanged(shutdown), job: () => isReceivable(work) })
    if (first === 'shutdown') {
      takeChange(shutdown)
      return
    }
    const job = receive(work)
    if (job === undefined) return
    yield step(`handles ${job}`, { job })
    done.push(job)
  }
}

/** svc-index §11.2, §11.3 and §18: `&mut shutdown` goes into the pipeline, whose hedged lookup waits on it too. */
function* indexWorker({ work, shutdown, config, done, interrupted }: Scene): Task {
  for (;;) {
    const first = yield select('waits', {
      shutdown: () => isChanged(shutdown),
      config: () => isChanged(config),
      job: () => isReceivable(work),
    })
    if (first === 'shutdown') {
      takeChange(shutdown)
      return
    }
    if (first === 'config') {
      takeChange(config)
      continue
    }
    const job = receive(work)
    if (job === undefined) return
    const second = yield select(`looks ${job} up`, { shutdown: () => isChanged(shutdown), answer: () => true }, { job })
    if (second === 'shutdown') {
      takeChange(shutdown)
      interrupted.push(job)
    } else {
      done.push(job)
    }
  }
}

/** The svc-edge worker with a shutdown that stays visible: it ends, and still drops what it accepted. */
function* levelWorker(scene: Scene): Task {
  const { work, done, interrupted } = scene
  for (;;) {
    const first = yield select('waits', { shutdown: () => scene.isDraining, job: () => isReceivable(work) })
    if (first === 'shutdown') return
    const job = receive(work)
    if (job === undefined) return
    const second = yield select(`fills ${job}`, { shutdown: () => scene.isDraining, fetched: () => true }, { job })
    if (second === 'shutdown') interrupted.push(job)
    else done.push(job)
  }
}

/** What the kernel does instead: intake stops, the queue closes, the worker drains until there is nothing left. */
function* drainingWorker({ work, done }: Scene): Task {
  for (;;) {
    yield wait('waits for a job or the close', () => isReceivable(work))
    const job = receive(work)
    if (job === undefined) return
    yield step(`fills ${job}`, { job })
    done.push(job)
  }
}

const NESTED: readonly SampleFault[] = ['interrupted-job', 'lost-shutdown', 'stranded-job']

/** The one with the shortest story, and the reason the kernel's shutdown is a level and not an edge. */
export const SVC_EDGE = sample({
  name: 'svc-edge worker as written',
  worker: edgeWorker,
  expect: NESTED,
  schedules: { total: 50, lost: 17, interrupted: 17, stranded: 9 },
})

const SVC_INDEX = sample({
  name: 'svc-index worker as written',
  worker: indexWorker,
  expect: NESTED,
  schedules: { total: 1074, lost: 318, interrupted: 318, stranded: 169 },
  reloads: true,
})

/** The three notes write the same loop in two ways; there is one behaviour to show. */
const BREAKING = ['svc-storage', 'svc-registry', 'svc-interop'].map((service) =>
  sample({
    name: `${service} worker as written`,
    worker: breakingWorker,
    expect: ['stranded-job'],
    schedules: { total: 33, lost: 0, interrupted: 0, stranded: 9 },
  }),
)

const LEVEL = sample({
  name: 'level-triggered, no drain',
  worker: levelWorker,
  expect: ['interrupted-job', 'stranded-job'],
  schedules: { total: 58, lost: 0, interrupted: 25, stranded: 12 },
})

const LEVEL_AND_DRAIN = sample({
  name: 'level-triggered, drain until empty',
  worker: drainingWorker,
  expect: [],
  schedules: { total: 42, lost: 0, interrupted: 0, stranded: 0 },
  closesIntake: true,
})

export const SAMPLES: readonly Sample[] = [SVC_EDGE, SVC_INDEX, ...BREAKING, LEVEL, LEVEL_AND_DRAIN]
