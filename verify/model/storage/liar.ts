/**
 * One liar among three: it says what it likes of an object that two honest nodes have, while they repair.
 *
 *     liar   ── has it, proved │ deleted, newest of all │ come back empty │ nothing ──▶ the asker
 *     a, b   ── what do the others know? ─▶ judge ─▶ delete, drop: here alone        am I to begin empty? ─▶ empty
 *     client ── deletes it at a, signed: a, then b
 *
 * The honest copies are the judge: none goes but by the client's delete, and that one reaches both.
 */
import type { KnownCopy } from '../../../services/storage/src/targets/target.ts'
import { choose, type Model, step, type Task } from '../model.ts'
import type { Suite } from '../suite.ts'
import type { StorageCores } from './cores.ts'

type Honest = 'a' | 'b'
type Told = 'a copy' | 'a delete' | 'come back' | 'nothing'

const HONEST = ['a', 'b'] as const
const PUT_AT = 5
const DELETED_AT = 6
const HUGE = 1000
const SIGNED = new Uint8Array(1)

interface Scene {
  /** The client deletes the object. */
  readonly deletes: boolean
  /** This node was away for long, by its own record. */
  readonly away: readonly Honest[]
  readonly rounds: number
}

function liarAmongThree({ belief, repair }: StorageCores, name: string, scene: Scene): Model {
  const setup = (): ReturnType<Model['setup']> => {
    const known = { a: copyOf(), b: copyOf() }
    const state = {
      known,
      told: 'nothing' as Told,
      isDeleted: false,
      isEmptied: false,
      isDropped: false,
      isLost: false,
    }

    /** What a peer's word comes to: the honest show the client's signature, the liar has none. */
    const heardFrom = (peer: 'm' | Honest): KnownCopy => {
      const claim = peer === 'm' ? lieOf(state.told) : known[peer]
      if (claim.tag === 'absent') return claim
      const isSigned = claim.tag === 'tombstone' && claim.record !== undefined
      const heard = { tag: claim.tag, version: claim.version, isPlausible: true, isSigned }
      if (!belief.isBelieved(heard)) return { tag: 'absent', isPartial: true }
      // A challenge reads what is there.
      return claim.tag === 'object' ? { ...claim, isProved: peer !== 'm' } : claim
    }

    function* repairer(node: Honest): Task {
      for (let round = 0; round < scene.rounds; round += 1) {
        yield step('repairs', { round })
        // The liar is where the first copy belongs.
        const order = (['m', ...HONEST] as const).map((each) => {
          const its = each === node ? known[node] : heardFrom(each)
          return { node: each, domain: each, isWritable: true, isExpired: false, known: its }
        })
        for (const { tag, ...what } of repair.judge(order, { node, copies: 2 }).steps) {
          if (!('at' in what) || what.at.node !== node) continue
          if (tag === 'drop') state.isDropped = true
          if (tag === 'drop') known[node] = { tag: 'absent' }
          if (tag !== 'delete') continue
          if (!state.isDeleted) state.isLost = true
          known[node] = { tag: 'tombstone', version: DELETED_AT, record: SIGNED }
        }
      }
    }

    function* watch(node: Honest): Task {
      yield step('asks who it is')
      const others = ['m', HONEST.find((each) => each !== node) ?? node]
      const wasAway = scene.away.includes(node)
      const saidBy = new Set(state.told === 'come back' ? ['m'] : [])
      if (!belief.mustBeginEmpty({ wasAway, peers: others, lost: wasAway ? others : [] }, saidBy)) return
      state.isEmptied = true
      known[node] = { tag: 'absent' }
    }

    function* liar(): Task {
      for (let time = 0; time < 2; time += 1)
        state.told = (yield choose('says', ['a copy', 'a delete', 'come back', 'nothing'], { time })) as Told
    }

    function* client(): Task {
      if (!scene.deletes) return
      yield step('deletes it at a')
      if (known.a.tag !== 'object') return
      state.isDeleted = true
      known.a = { tag: 'tombstone', version: DELETED_AT, record: SIGNED }
      yield step('is told, once b knows')
      known.b = { tag: 'tombstone', version: DELETED_AT, record: SIGNED }
    }

    const isGone = (): boolean => HONEST.every((node) => known[node].tag !== 'object')
    return {
      state,
      tasks: {
        liar,
        client,
        'a-repair': () => repairer('a'),
        'b-repair': () => repairer('b'),
        'a-watch': () => watch('a'),
        'b-watch': () => watch('b'),
      },
      daemons: [],
      never: () => ({
        'lost-by-a-word': state.isLost,
        'dropped-by-a-word': state.isDropped,
        'emptied-by-a-word': state.isEmptied,
      }),
      leaks: () => ({}),
      eventually: () => ({ 'the object is as the client left it': isGone() === state.isDeleted }),
    }
  }
  return { name, setup }
}

function copyOf(): KnownCopy {
  return { tag: 'object', version: PUT_AT, isProved: true }
}

function lieOf(told: Told): KnownCopy {
  if (told === 'a copy') return { tag: 'object', version: PUT_AT, isProved: true }
  return told === 'a delete' ? { tag: 'tombstone', version: HUGE } : { tag: 'absent' }
}

export const LIAR: Suite<StorageCores> = {
  name: 'one liar among three',
  smallest: (cores) => [liarAmongThree(cores, 'liar: repair alone', { deletes: false, away: [], rounds: 1 })],
  larger: (cores) => [
    liarAmongThree(cores, 'liar: a delete meanwhile', { deletes: true, away: [], rounds: 2 }),
    liarAmongThree(cores, 'liar: one was away', { deletes: false, away: ['b'], rounds: 2 }),
  ],
  mutants: [
    {
      name: 'believe the highest version',
      file: 'targets/belief-core.ts',
      find: "return tag === 'object' || version === 0 || isSigned",
      replace: 'return true',
      expect: 'lost-by-a-word',
    },
    {
      name: 'believe rejoin',
      file: 'targets/belief-core.ts',
      find: 'return wasAway && 2 * votes > voters.length',
      replace: 'return votes > 0',
      expect: 'emptied-by-a-word',
    },
    {
      name: 'believe one that says so, after a long absence',
      file: 'targets/belief-core.ts',
      find: '2 * votes > voters.length',
      replace: 'votes > 0',
      expect: 'emptied-by-a-word',
    },
    {
      name: 'count by word',
      file: 'repair/repair-core.ts',
      find: 'isCopy(known, version) && known.isProved)',
      replace: 'isCopy(known, version))',
      expect: 'dropped-by-a-word',
    },
  ],
}
