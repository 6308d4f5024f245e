import type { Suite } from '../suite.ts'
import type { StoreCores } from './cores.ts'
import { sweeperRace } from './sweeper-scene.ts'

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
      file: 'chunk/lease-core.ts',
      find: 'return facts.isSettled && !facts.isReferenced && !isLeased(core, id, now)',
      replace: 'return facts.isSettled && !facts.isReferenced',
      expect: 'swept-while-promised',
    },
    {
      name: 'the sweeper does not ask for objects',
      file: 'chunk/lease-core.ts',
      find: 'return facts.isSettled && !facts.isReferenced && !isLeased(core, id, now)',
      replace: 'return facts.isSettled && !isLeased(core, id, now)',
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
      file: 'chunk/lease-core.ts',
      find: 'if (now < core.sweepsFrom) return false',
      replace: '',
      expect: 'swept-while-promised',
    },
  ],
}
