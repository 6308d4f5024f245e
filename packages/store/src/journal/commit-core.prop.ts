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
  | { readonly tag: 'end'; readonly operation: 'write' | 'sync' | 'roll'; readonly how: 'well' | 'badly' | 'full' }

const command: fc.Arbitrary<Command> = fc.oneof(
  fc.record({
    tag: fc.constant('submit' as const),
    bytes: fc.integer({ min: 1, max: 150 }),
    wantsSync: fc.boolean(),
    freesSpace: fc.boolean(),
  }),
  fc.record({
    tag: fc.constant('end' as const),
    operation: fc.constantFrom('write' as const, 'sync' as const, 'roll' as const),
    how: fc.constantFrom('well' as const, 'well' as const, 'well' as const, 'badly' as const, 'full' as const),
  }),
)

const REFUSED = new CairnError('StorageBusy', 'refused')

/** A file that takes one write and one sync at a time, and what it holds; it is left only when neither is in flight. */
class CommitShell {
  readonly commit = core.createCommit<number>(LIMITS)
  readonly durable: number[] = []
  readonly failed: number[] = []
  accepted = 0
  room = SEGMENT_BYTES
  #written: number[] = []
  #write: Extract<core.CommitStep<number>, { tag: 'write' }> | undefined
  #sync: number | undefined
  #isRolling = false

  submit(entry: Omit<core.NewCommitEntry<number>, 'item'>): void {
    if (core.submit(this.commit, { item: this.accepted, ...entry }) !== 'full') this.accepted += 1
    this.advance()
  }

  end(operation: 'write' | 'sync' | 'roll', how: 'well' | 'badly' | 'full'): void {
    if (operation === 'write' && this.#write !== undefined) this.#endWrite(this.#write, how)
    else if (operation === 'sync' && this.#sync !== undefined) this.#endSync(this.#sync, how)
    else if (operation === 'roll' && this.#isRolling) this.#endRoll(how)
    this.advance()
  }

  #endWrite(step: Extract<core.CommitStep<number>, { tag: 'write' }>, how: 'well' | 'badly' | 'full'): void {
    this.#write = undefined
    if (how === 'full') {
      core.lacksRoom(this.commit)
    } else if (how === 'badly') {
      core.broke(this.commit, 'write', REFUSED)
    } else {
      this.#written.push(...step.group.map(({ item }) => item))
      this.room -= step.bytes
      core.wrote(this.commit)
    }
  }

  #endSync(covers: number, how: 'well' | 'badly' | 'full'): void {
    this.#sync = undefined
    if (how === 'badly') {
      core.broke(this.commit, 'sync', REFUSED)
      return
    }
    const durable = core.synced(this.commit).map(({ item }) => item)
    assert.deepEqual(durable, this.#written.splice(0, covers))
    this.durable.push(...durable)
  }

  #endRoll(how: 'well' | 'badly' | 'full'): void {
    this.#isRolling = false
    if (how === 'badly') {
      core.broke(this.commit, 'roll', REFUSED)
      return
    }
    this.room = SEGMENT_BYTES
    core.rolled(this.commit)
  }

  advance(): void {
    for (;;) {
      const step = core.nextStep(this.commit, this.room)
      if (step.tag === 'idle') break
      if (step.tag === 'write') {
        assert.ok(this.#write === undefined && !this.#isRolling)
        assert.ok(step.bytes <= this.room && step.group.length <= LIMITS.groupEntriesMax)
        this.#write = step
      } else if (step.tag === 'sync') {
        assert.ok(this.#sync === undefined && !this.#isRolling)
        this.#sync = this.#written.length
      } else if (step.tag === 'refuse') {
        assert.ok(this.#write === undefined && this.#sync === undefined && this.#written.length === 0)
        const refused: core.CommitEntry<number>[] = core.refuse(this.commit, REFUSED)
        assert.ok(refused.every(({ freesSpace }) => !freesSpace))
        this.failed.push(...refused.map(({ item }) => item))
      } else {
        assert.ok(this.#write === undefined && this.#sync === undefined && this.#written.length === 0)
        this.#isRolling = true
      }
    }
    const failed = core.fail(this.commit)
    if (failed === undefined) return
    assert.ok(this.#write === undefined && this.#sync === undefined)
    assert.deepEqual(core.nextStep(this.commit, this.room), { tag: 'idle' })
    this.failed.push(...failed.map(({ item }) => item))
    this.#written = []
    this.room = SEGMENT_BYTES
    core.reopen(this.commit)
    this.advance()
  }
}

test('every caller is told once, in order; durable only after a write and a sync begun after it; a failure takes all behind it along', () => {
  fc.assert(
    fc.property(fc.array(command, { maxLength: 120 }), (commands) => {
      const shell = new CommitShell()
      for (const each of commands) {
        if (each.tag === 'end') shell.end(each.operation, each.how)
        else shell.submit(each)
      }
      const { commit, durable, failed, accepted } = shell
      const ascending = [...durable].sort((a, b) => a - b)
      assert.deepEqual(durable, ascending)
      const waiting = [...commit.syncing, ...commit.unsynced, ...commit.writing, ...commit.queue].map(
        ({ item }) => item,
      )
      const all = [...durable, ...failed, ...waiting].sort((a, b) => a - b)
      const everyEntry = Array.from({ length: accepted }, (_, item) => item)
      assert.deepEqual(all, everyEntry)
    }),
    { numRuns: 2_000 },
  )
})

test('all that was submitted becomes durable once every operation ends well', () => {
  fc.assert(
    fc.property(fc.array(command, { maxLength: 120 }), (commands) => {
      const shell = new CommitShell()
      for (const each of commands) {
        if (each.tag === 'end') shell.end(each.operation, each.how)
        else shell.submit(each)
      }
      const { commit } = shell
      for (const entry of [...commit.unsynced, ...commit.writing, ...commit.queue]) entry.wantsSync = true
      shell.advance()
      for (let round = 0; round < 1_000; round += 1)
        for (const operation of ['write', 'sync', 'roll'] as const) shell.end(operation, 'well')
      assert.equal(shell.durable.length + shell.failed.length, shell.accepted)
    }),
    { numRuns: 300 },
  )
})

test('an entry larger than the queue is taken when it is alone', () => {
  const commit = core.createCommit<number>(LIMITS)
  const big = { item: 1, bytes: 10_000, wantsSync: true, freesSpace: false }
  assert.notEqual(core.submit(commit, big), 'full')
  assert.equal(core.submit(commit, { ...big, item: 2 }), 'full')
})
