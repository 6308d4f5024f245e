import type { Suite } from '../suite.ts'
import type { StoreCores } from './cores.ts'
import { sweeperRace } from './sweeper-scene.ts'

const ONE_ROUND = { isStored: true, sweeps: 1, ticks: 0, failures: 0 } as const

export const PUT_AND_SWEEPER: Suite<StoreCores> = {
  name: 'a put races the sweeper',
  smallest: (cores) => [
    sweeperRace(cores, 'put × sweeper: chunk there, 1 sweep', {
      isStored: true,
      uploads: ['put'],
      sweeps: 1,
      ticks: 0,
      failures: 0,
    }),
  ],
  larger: (cores) => [
    sweeperRace(cores, 'put × sweeper: chunk there, 2 sweeps, 2 ticks', {
      isStored: true,
      uploads: ['put'],
      sweeps: 2,
      ticks: 2,
      failures: 0,
    }),
    sweeperRace(cores, 'put × sweeper: 1 failure', {
      isStored: true,
      uploads: ['put'],
      sweeps: 1,
      ticks: 0,
      failures: 1,
    }),
    sweeperRace(cores, 'put × sweeper: 2 uploads', {
      isStored: true,
      uploads: ['put', 'put'],
      sweeps: 1,
      ticks: 0,
      failures: 0,
    }),
  ],
  mutants: [
    {
      name: 'the sweeper does not ask for leases',
      file: 'object/mark-core.ts',
      find: 'if (isLeased(leases, id, now)) return false',
      replace: '',
      expect: 'swept-while-promised',
    },
    {
      name: 'the sweeper does not ask for objects',
      file: 'object/mark-core.ts',
      find: 'return facts.isProved && facts.isSettled && !facts.isMarked',
      replace: 'return facts.isProved && facts.isSettled',
      expect: 'object-without-chunk',
    },
    {
      name: 'a commit keeps its chunk by the clock',
      file: 'chunk/lease-core.ts',
      find: 'held.expiresAt = Number.POSITIVE_INFINITY',
      replace: '',
      expect: 'object-without-chunk',
    },
    {
      name: 'a put counts on a chunk that is about to go',
      file: 'chunk/presence-core.ts',
      find: "return underWay.tag === 'put' ? { tag: 'join', token: underWay.token } : { tag: 'write' }",
      replace: "return underWay.tag === 'put' ? { tag: 'join', token: underWay.token } : { tag: 'present' }",
      expect: 'gone-while-promised',
    },
    {
      name: 'a removal that ends ends the put behind it',
      file: 'chunk/presence-core.ts',
      find: 'if (presence.get(id)?.token === token) presence.delete(id)',
      replace: 'presence.delete(id)',
      expect: 'chunk-stored-twice',
    },
    {
      name: 'an upload with nothing left keeps its lease',
      file: 'chunk/lease-core.ts',
      find: 'if (held.ids.size === 0) core.uploads.delete(upload)',
      replace: '',
      expect: 'leak',
    },
  ],
}

export const MISSING_AND_SWEEPER: Suite<StoreCores> = {
  name: '`missing` races the sweeper',
  smallest: (cores) => [
    sweeperRace(cores, 'missing × sweeper: 1 sweep', {
      isStored: true,
      uploads: ['missing'],
      sweeps: 1,
      ticks: 0,
      failures: 0,
    }),
  ],
  larger: (cores) => [
    sweeperRace(cores, 'missing × sweeper: with a put, 1 failure', {
      isStored: true,
      uploads: ['missing', 'put'],
      sweeps: 1,
      ticks: 0,
      failures: 1,
    }),
    sweeperRace(cores, 'missing × sweeper: 2 sweeps, 3 ticks', {
      isStored: true,
      uploads: ['missing'],
      sweeps: 2,
      ticks: 3,
      failures: 0,
    }),
    sweeperRace(cores, 'missing × sweeper: after a restart, 3 ticks', {
      isStored: true,
      openedAt: 0,
      uploads: ['returns'],
      sweeps: 1,
      ticks: 3,
      failures: 0,
    }),
    sweeperRace(cores, 'missing × sweeper: 2 uploads ask', {
      isStored: true,
      uploads: ['missing', 'missing'],
      sweeps: 1,
      ticks: 0,
      failures: 0,
    }),
  ],
  mutants: [
    {
      name: '`missing` counts on a chunk that is about to go',
      file: 'chunk/presence-core.ts',
      find: 'return isIndexed && !presence.has(id)',
      replace: 'return isIndexed',
      expect: 'gone-while-promised',
    },
    {
      name: '`missing` counts on a chunk whose new copy waits behind its removal',
      file: 'chunk/presence-core.ts',
      find: 'return isIndexed && !presence.has(id)',
      replace: "return isIndexed && presence.get(id)?.tag !== 'removal'",
      expect: 'gone-while-promised',
    },
    {
      name: 'a lease ends when it begins',
      file: 'chunk/lease-core.ts',
      find: 'Math.max(held.expiresAt, now + core.ttlMs)',
      replace: 'Math.max(held.expiresAt, now)',
      expect: 'swept-while-promised',
    },
    {
      name: 'leases of an earlier life are forgotten',
      file: 'object/mark-core.ts',
      find: 'return now >= leases.sweepsFrom',
      replace: 'return true',
      expect: 'swept-while-promised',
    },
  ],
}

export const COMMIT_AND_ROUND: Suite<StoreCores> = {
  name: 'a commit and a delete race a marking round',
  smallest: (cores) => [
    sweeperRace(cores, 'round: an object from before, 1 sweep', {
      ...ONE_ROUND,
      uploads: [],
      before: 'kept',
    }),
  ],
  larger: (cores) => [
    sweeperRace(cores, 'round: a commit of a chunk that is there', { ...ONE_ROUND, uploads: ['missing'] }),
    sweeperRace(cores, 'round: a delete, 2 sweeps', { ...ONE_ROUND, uploads: [], before: 'deleted', sweeps: 2 }),
    sweeperRace(cores, 'round: a commit and the delete of the other object, 2 sweeps', {
      ...ONE_ROUND,
      uploads: ['missing'],
      before: 'deleted',
      sweeps: 2,
    }),
    sweeperRace(cores, 'round: the record of an object cannot be read', {
      ...ONE_ROUND,
      uploads: [],
      before: 'unreadable record',
    }),
    sweeperRace(cores, 'round: the segment of an object cannot be read', {
      ...ONE_ROUND,
      uploads: [],
      before: 'unreadable segment',
    }),
    sweeperRace(cores, 'round: a commit fails', { ...ONE_ROUND, uploads: ['missing'], failures: 1 }),
    sweeperRace(cores, 'round: a lease runs out, 3 ticks, 2 sweeps', {
      ...ONE_ROUND,
      uploads: ['leaves'],
      sweeps: 2,
      ticks: 3,
    }),
  ],
  mutants: [
    {
      name: 'a commit during a round does not mark',
      file: 'object/mark-core.ts',
      find: 'for (const id of ids) mark(id)',
      replace: '',
      expect: 'object-without-chunk',
    },
    {
      name: 'an unreadable segment is ignored',
      file: 'object/mark-core.ts',
      find: 'core.blockedBy = blindness',
      replace: 'core.blockedBy = undefined',
      expect: 'object-without-chunk',
    },
    {
      name: 'an unreadable record is ignored',
      file: 'object/mark-core.ts',
      find: 'core.blockedBy ??= why',
      replace: '',
      expect: 'object-without-chunk',
    },
    {
      name: 'the sweeper trusts what an earlier round marked',
      file: 'object/mark-core.ts',
      find: "core.phase = core.blockedBy === undefined ? 'whole' : 'idle'",
      replace: "core.phase = 'whole'",
      expect: 'object-without-chunk',
    },
    {
      name: 'what a blocked round did not reach may go',
      file: 'object/mark-core.ts',
      find: "if (marks.phase !== 'whole') return false",
      replace: '',
      expect: 'object-without-chunk',
    },
    {
      name: 'the candidate is not looked at again',
      file: 'object/mark-core.ts',
      find: 'return facts.isProved && facts.isSettled && !facts.isMarked',
      replace: 'return facts.isProved && facts.isSettled',
      expect: 'object-without-chunk',
    },
    {
      name: 'a death during a round counts as seen by it',
      file: 'object/mark-core.ts',
      find: 'core.deathsSeen = core.deathsAtBegin',
      replace: 'core.deathsSeen = core.deaths',
      expect: 'garbage-forgotten',
    },
    {
      name: 'a lease that runs out is forgotten',
      file: 'chunk/lease-core.ts',
      find: 'if (core.uploads.delete(upload)) core.abandoned += 1',
      replace: 'core.uploads.delete(upload)',
      expect: 'garbage-forgotten',
    },
    {
      name: 'a commit that failed leaves its lease',
      file: 'chunk/lease-core.ts',
      find: 'if (core.uploads.delete(upload)) core.abandoned += 1',
      replace: '',
      expect: 'leak',
    },
  ],
}
