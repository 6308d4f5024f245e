import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CairnError } from '@cairn/kernel'
import fc from 'fast-check'
import * as core from './commit-core.ts'

const LIMITS: core.CommitLimits = {
  queueBytesMax: 500,
  queueEntriesMax: 10,
  groupBytesMax: 200,
  groupEntriesMax: 4,
  unsyncedBytesMax: 300,
}
const SEGMENT_BYTES = 400

type Command =
  | { readonly tag: 'submit'; readonly bytes: number; readonly wantsSync: boolean; readonly freesSpace: boolean }
  | { readonly tag: 'step' }
  | { readonly tag: 'fail' }
  | { readonly tag: 'refuse' }

const command: fc.Arbitrary<Command> = fc.oneof(
  fc.record({
    tag: fc.constant('submit' as const),
    bytes: fc.integer({ min: 1, max: 150 }),
    wantsSync: fc.boolean(),
    freesSpace: fc.boolean(),
  }),
  fc.record({ tag: fc.constant('step' as const) }),
  fc.record({ tag: fc.constantFrom('fail' as const, 'refuse' as const) }),
)

test('everybody is told once, in order; durable only after write and sync; a failure takes everybody behind it along', () => {
  fc.assert(
    fc.property(fc.array(command, { maxLength: 80 }), (commands) => {
      const commit = core.createCommit<number>(LIMITS)
      const durable: number[] = []
      const failed: number[] = []
      let accepted = 0
      let room = SEGMENT_BYTES
      let under: core.CommitStep<number> = { tag: 'idle' }
      for (const each of commands) {
        if (each.tag === 'submit') {
          const { bytes, wantsSync, freesSpace } = each
          if (core.submit(commit, { item: accepted, bytes, wantsSync, freesSpace }) !== 'full') accepted += 1
        } else if (each.tag === 'fail') {
          failed.push(...core.fail(commit, new CairnError('StorageBusy', 'broken')).map(({ item }) => item))
          assert.deepEqual(core.nextStep(commit, room), { tag: 'idle' })
          core.reopen(commit)
          under = { tag: 'idle' }
        } else if (each.tag === 'refuse' && under.tag === 'write') {
          const refused: core.CommitEntry<number>[] = core.refuse(
            commit,
            under.group,
            new CairnError('StorageBusy', 'full'),
          )
          assert.ok(refused.every(({ freesSpace }) => !freesSpace))
          failed.push(...refused.map(({ item }) => item))
          under = { tag: 'idle' }
        } else if (under.tag === 'write') {
          core.wrote(commit)
          room -= under.bytes
          under = { tag: 'idle' }
        } else {
          under = core.nextStep(commit, room)
          if (under.tag === 'write') assert.ok(under.bytes <= room && under.group.length <= LIMITS.groupEntriesMax)
          if (under.tag === 'roll') room = SEGMENT_BYTES
          if (under.tag === 'sync') durable.push(...core.synced(commit).map(({ item }) => item))
        }
      }
      assert.deepEqual(
        durable,
        [...durable].sort((a, b) => a - b),
      )
      const waiting = [...commit.unsynced, ...commit.writing, ...commit.queue].map(({ item }) => item)
      const all = [...durable, ...failed, ...waiting].sort((a, b) => a - b)
      assert.deepEqual(
        all,
        Array.from({ length: accepted }, (_, item) => item),
      )
    }),
    { numRuns: 1_000 },
  )
})

test('an entry larger than the queue is taken when it is alone', () => {
  const commit = core.createCommit<number>(LIMITS)
  const big = { item: 1, bytes: 10_000, wantsSync: true, freesSpace: false }
  assert.notEqual(core.submit(commit, big), 'full')
  assert.equal(core.submit(commit, { ...big, item: 2 }), 'full')
})
