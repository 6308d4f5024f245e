/**
 * Clients of one cold key, a worker, and somebody who makes the key invalid meanwhile.
 *
 *     client ─ join ─▶ flight ─▶ [ work ] ─▶ worker: asks ─▶ all is here ─▶ stores ─▶ lands
 *        └─ may leave at any time             └─ whoever waits is told
 *
 * Of a response that may not be reused, a client who comes after its header gets none of it: it begins another fill.
 */
import { type Model, select, step, type Task, wait } from '../model.ts'
import type { Suite } from '../suite.ts'
import type { EdgeCores } from './cores.ts'

interface Scene {
  readonly clients: number
  /** Of those, how many may leave before they are answered. */
  readonly hasty: number
  readonly workers: number
  readonly invalidations: number
  /** Whether what the upstream says may be given to requests that come after its header. */
  readonly isReusable: boolean
}

interface ModelFlight {
  readonly key: string
  waiting: number
  isWhole: boolean
  isOver: boolean
  isOutdated: boolean
  isAbandoned: boolean
  isAsking: boolean
  /** The header has come. */
  isGrowing: boolean
  /** Of the upstream's content, as it was when it was asked. */
  version: number
  isDone: boolean
}

const KEY = 'k'

function fills(cores: EdgeCores, name: string, scene: Scene): Model {
  const core = cores.flights
  const setup = (): ReturnType<Model['setup']> => {
    const flights = core.createFlights<ModelFlight>()
    const work: ModelFlight[] = []
    const all: ModelFlight[] = []
    const history = {
      version: 1,
      stored: undefined as number | undefined,
      joinedOver: false,
      joinedLate: false,
      toldOld: false,
    }

    const isGone = (flight: ModelFlight): boolean => flight.isAbandoned
    const begin = (): ModelFlight => {
      const flight = {
        key: KEY,
        waiting: 0,
        isWhole: false,
        isOver: false,
        isOutdated: false,
        isAbandoned: false,
        isAsking: false,
        isGrowing: false,
        version: 0,
        isDone: false,
      }
      all.push(flight)
      return flight
    }

    function* client(isHasty: boolean): Task {
      yield step('asks')
      const asked = history.version
      const { flight, isFirst } = core.join(flights, KEY, begin, (known) => !known.isGrowing || scene.isReusable)
      if (isFirst) work.push(flight)
      else if (flight.isOver) history.joinedOver = true
      else if (flight.isGrowing && !scene.isReusable) history.joinedLate = true
      const place = all.indexOf(flight)
      const how = yield select('waits', { told: () => flight.isDone, leaves: () => isHasty }, { place, asked })
      if (how === 'told' && flight.version < asked) history.toldOld = true
      if (core.leave(flights, flight) === 'abandoned') flight.isAbandoned = true
    }

    function* worker(): Task {
      for (;;) {
        yield wait('takes a fill', () => work.length > 0)
        const flight = work.shift()
        if (flight === undefined || flight.isAbandoned) continue
        const place = all.indexOf(flight)
        flight.isAsking = true
        flight.version = history.version
        yield step('has its header', { place })
        flight.isAsking = false
        flight.isGrowing = true
        if (isGone(flight)) continue
        if (!scene.isReusable) yield step('has all of it', { place })
        if (isGone(flight)) continue
        flight.isWhole = true
        yield step('stores it', { place })
        if (!flight.isOutdated) history.stored = flight.version
        flight.isDone = true
        core.land(flights, flight)
      }
    }

    const tasks: Record<string, () => Task> = {}
    for (let count = 1; count <= scene.clients; count += 1)
      tasks[`client-${count}`] = () => client(count <= scene.hasty)
    for (let count = 1; count <= scene.workers; count += 1) tasks[`worker-${count}`] = worker
    if (scene.invalidations > 0) {
      tasks['writer'] = function* () {
        for (let count = 0; count < scene.invalidations; count += 1) {
          yield step('changes what the key means')
          history.version += 1
          history.stored = undefined
          core.outdate(flights, (key) => key === KEY)
        }
      }
    }
    const wanted = (flight: ModelFlight): boolean => flight.isAsking && !flight.isAbandoned && !flight.isOutdated
    return {
      state: { flights, work, all, history },
      tasks,
      daemons: Object.keys(tasks).filter((task) => task.startsWith('worker')),
      never: () => ({
        'two-fills-of-a-key': all.filter(wanted).length > 1,
        'abandoned-while-somebody-waits': all.some(({ isAbandoned, waiting }) => isAbandoned && waiting > 0),
        'thrown-away-when-whole': all.some(({ isAbandoned, isWhole }) => isAbandoned && isWhole),
        'joined-what-was-over': history.joinedOver,
        'answered-from-the-past': history.joinedLate,
        'told-what-was-invalid': history.toldOld,
        'stored-what-was-invalid': history.stored !== undefined && history.stored < history.version,
      }),
      leaks: () => ({ flights: flights.byKey.size + flights.apart.size }),
    }
  }
  return { name, setup }
}

export const FLIGHTS: Suite<EdgeCores> = {
  name: 'one fill for each key',
  smallest: (cores) => [
    fills(cores, 'fills: 2 clients, 1 may leave', {
      clients: 2,
      hasty: 1,
      workers: 1,
      invalidations: 0,
      isReusable: true,
    }),
    fills(cores, 'fills: 2 clients, 1 change', {
      clients: 2,
      hasty: 0,
      workers: 1,
      invalidations: 1,
      isReusable: true,
    }),
    fills(cores, 'fills: 2 clients, never reusable, 1 change', {
      clients: 2,
      hasty: 0,
      workers: 2,
      invalidations: 1,
      isReusable: false,
    }),
  ],
  larger: (cores) => [
    fills(cores, 'fills: 3 clients, 2 may leave, 2 workers', {
      clients: 3,
      hasty: 2,
      workers: 2,
      invalidations: 0,
      isReusable: true,
    }),
    fills(cores, 'fills: 3 clients, 1 may leave, 2 workers, 1 change', {
      clients: 3,
      hasty: 1,
      workers: 2,
      invalidations: 1,
      isReusable: true,
    }),
    fills(cores, 'fills: 3 clients, never reusable, 1 may leave, 2 workers', {
      clients: 3,
      hasty: 1,
      workers: 2,
      invalidations: 0,
      isReusable: false,
    }),
  ],
  mutants: [
    {
      name: 'the first to leave ends the fill of the others',
      file: 'fill/flights-core.ts',
      find: 'if (flight.waiting > 0 || flight.isWhole || flight.isOver)',
      replace: 'if (flight.isWhole || flight.isOver)',
      expect: 'abandoned-while-somebody-waits',
    },
    {
      name: 'a body that is all here is thrown away with its last reader',
      file: 'fill/flights-core.ts',
      find: 'if (flight.waiting > 0 || flight.isWhole || flight.isOver)',
      replace: 'if (flight.waiting > 0 || flight.isOver)',
      expect: 'thrown-away-when-whole',
    },
    {
      name: 'what is over stays in the table',
      file: 'fill/flights-core.ts',
      find: 'if (byKey.get(flight.key) === flight) byKey.delete(flight.key)',
      replace: '',
      expect: 'joined-what-was-over',
    },
    {
      name: 'an old flight takes a new one out of the table',
      file: 'fill/flights-core.ts',
      find: 'if (byKey.get(flight.key) === flight) byKey.delete(flight.key)',
      replace: 'byKey.delete(flight.key)',
      expect: 'two-fills-of-a-key',
    },
    {
      name: 'nobody joins',
      file: 'fill/flights-core.ts',
      find: 'const known = byKey.get(key)',
      replace: 'const known = byKey.get(`other ${key}`)',
      expect: 'two-fills-of-a-key',
    },
    {
      name: 'what became invalid on its way is stored',
      file: 'fill/flights-core.ts',
      find: 'if (!isConcerned(key)) continue\n    flight.isOutdated = true',
      replace: 'if (!isConcerned(key)) continue',
      expect: 'stored-what-was-invalid',
    },
    {
      name: 'what became invalid is still joined',
      file: 'fill/flights-core.ts',
      find: '    byKey.delete(key)',
      replace: '',
      expect: 'told-what-was-invalid',
    },
    {
      name: 'a request joins whatever is under way',
      file: 'fill/flights-core.ts',
      find: 'if (known !== undefined && mayJoin(known)) {',
      replace: 'if (known !== undefined) {',
      expect: 'answered-from-the-past',
    },
    {
      name: 'what was replaced is not found by an invalidation',
      file: 'fill/flights-core.ts',
      find: 'if (known !== undefined) apart.add(known)',
      replace: '',
      expect: 'stored-what-was-invalid',
    },
    {
      name: 'what was replaced and is over stays on the list',
      file: 'fill/flights-core.ts',
      find: '  apart.delete(flight)\n',
      replace: '',
      expect: 'leak',
    },
  ],
}
