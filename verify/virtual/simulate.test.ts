import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { describe, test } from 'node:test'
import { Deadline, isKind, sleep } from '@cairn/kernel'
import type { Signal, WorkerTask } from '@cairn/platform'
import { simulate } from './simulate.ts'
import { Trace } from './trace.ts'
import { VirtualWorld } from './world.ts'

describe('a simulation', () => {
  test('has the same trace in two processes, and another when one packet is 1 ms later', () => {
    const script = new URL('./samples/replicas.ts', import.meta.url).pathname
    const hash = (...args: readonly string[]): string => {
      const run = spawnSync(process.execPath, [script, ...args], { encoding: 'utf8' })
      assert.match(run.stdout, /^[0-9a-f]{64}\n$/, run.stderr)
      return run.stdout
    }
    const first = hash('7')
    assert.equal(hash('7'), first)
    assert.notEqual(hash('7', '5'), first, 'packet 5 is 1 ms later')
  })

  test('has a trace that differs in any line or byte', () => {
    const hashOf = (line: string, ...bytes: number[]): string => {
      const trace = new Trace()
      trace.note(line, [Uint8Array.from(bytes)])
      return trace.hash()
    }
    assert.equal(hashOf('a', 1), hashOf('a', 1))
    assert.notEqual(hashOf('a', 1), hashOf('b', 1))
    assert.notEqual(hashOf('a', 1), hashOf('a', 2))
  })

  test('fails with its seed when the scenario does, when it is stuck, and when it leaves something behind', async () => {
    await assert.rejects(
      simulate(3, async () => assert.fail('wrong')),
      /seed 3: .*wrong/,
    )
    await assert.rejects(
      simulate(3, async () => await new Promise(() => undefined)),
      /Seed 3 is stuck/,
    )
    const untidy = simulate(3, async (world) => {
      const { disk, workers } = world.machine('node').start()
      await disk.open('file', { mode: 'create' })
      await workers.close()
    })
    await assert.rejects(untidy, /seed 3 left behind: node: resource file file/)
  })
})

describe('a life', () => {
  test('ends at the n-th call: nothing it waits for settles and none of its timers fires', async () => {
    const world = new VirtualWorld(1)
    const machine = world.machine('node')
    const { disk, clock } = machine.start()
    const happened: string[] = []
    const note = (what: string, work: Promise<unknown>): void => {
      work.then(
        () => happened.push(what),
        () => happened.push(`${what} failed`),
      )
    }
    machine.crashAfter(3)
    note('list 1', disk.list('.'))
    clock.timer(5, () => happened.push('timer'))
    await world.runUntilIdle()
    assert.deepEqual(happened, ['list 1', 'timer'])
    note('pending', disk.list('.'))
    note('sleep', sleep(clock, 1000))
    note('the last', disk.makeDirectory('d'))
    assert.ok(!machine.isUp)
    note('later', disk.list('.'))
    clock.timer(1, () => happened.push('late timer'))
    await world.runUntilIdle()
    assert.deepEqual(happened, ['list 1', 'timer'])
    assert.deepEqual([machine.calls, clock.pending(), world.clock.pending()], [3, 0, 0])
  })

  test('leaves a disk for the next, and no locks', async () => {
    await simulate(1, async (world) => {
      const machine = world.machine('node')
      const first = machine.start()
      await first.disk.lock('lock')
      await first.disk.syncDirectory('.')
      await first.disk.makeDirectory('made')
      await first.disk.syncDirectory('.')
      machine.crash()
      const { disk, workers } = machine.start()
      await using _lock = await disk.lock('lock')
      assert.deepEqual(await disk.list('made'), [])
      await workers.close()
    })
  })

  test('has a wall clock of its own, which may be wrong', async () => {
    const world = new VirtualWorld(1)
    const { clock } = world.machine('late').start({ wallSkewMs: -60_000 })
    assert.equal(clock.wall(), world.clock.wall() - 60_000)
    clock.jumpWall(90_000)
    assert.equal(clock.wall(), world.clock.wall() + 30_000)
    assert.equal(clock.now(), world.clock.now())
  })

  test('hears signals, has an environment, and ends when it exits or nobody listens for a signal', async () => {
    const world = new VirtualWorld(1)
    const machine = world.machine('node')
    const { process } = machine.start({ environment: { CAIRN_DATA: 'd' } })
    assert.equal(process.environment['CAIRN_DATA'], 'd')
    const heard: Signal[] = []
    const stop = process.onSignal((signal) => heard.push(signal))
    process.send('hangup')
    stop()
    process.send('terminate')
    assert.deepEqual([heard, machine.isUp, machine.exitCode], [['hangup'], false, 143])
    const again = machine.start()
    assert.throws(() => again.process.exit(70))
    assert.deepEqual([machine.isUp, machine.exitCode], [false, 70])
  })

  test('has workers that take virtual time and keep their deadline', async () => {
    const square: WorkerTask<number, number> = {
      module: new URL('./samples/square.ts', import.meta.url),
      name: 'square',
    }
    await simulate(1, async (world) => {
      const { workers, clock } = world.machine('node').start()
      const soon = (ms: number) => ({ deadline: Deadline.after(clock, ms) })
      assert.equal(await workers.run(square, 12, soon(100)), 144)
      assert.ok(clock.now() > 1)
      const before = clock.now()
      assert.equal(await workers.run({ ...square, name: 'squareSlowly' }, 12, soon(100)), 144)
      assert.ok(clock.now() < before + 10, 'however long it really took')
      await assert.rejects(workers.run(square, 12, soon(1)), (error) => isKind(error, 'Timeout'))
      const many = Array.from({ length: 140 }, async (_, each) => await workers.run(square, each, soon(10_000)))
      const outcomes = await Promise.allSettled(many)
      assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 130, 'two run, 128 wait')
      await workers.close()
    })
  })
})
