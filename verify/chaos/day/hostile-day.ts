/**
 * A hostile day: five processes, everybody asking all the time, and somebody who means them ill.
 *
 *     actors    ask ─▶ acknowledged: into the ledger │ refused: by its code │ cut off: either way
 *     hostility kill -9 · stalled processes · full drive · configuration read again, sometimes a bad one
 *     evening   all five killed at once, started again, and held to every promise of the day
 */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { SystemClock, sleep } from '@cairn/kernel'
import { SeededRandom } from '@cairn/kernel/testing'
import type { Actor, Scene } from './actor.ts'
import { InteropActor } from './interop-actor.ts'
import { Machines, SERVICES } from './machines.ts'
import { EdgeActor, IndexActor } from './reader-actors.ts'
import { RegistryActor } from './registry-actor.ts'
import { StorageActor } from './storage-actor.ts'
import { Tally } from './tally.ts'

export interface Day {
  readonly seconds: number
  readonly killsEach: number
  readonly fulls: number
  readonly stalls: number
  readonly reloads: number
  readonly acknowledgedMin: number
  readonly seed: number
}

const CLOCK = new SystemClock()
const PAUSE_MS_MAX = 1500
const FULL_MS = 5000
const STALL_MS = 3000
const BAD_CONFIG_MS = 1000
/** Until a breaker has found out that its target is back, and the index has read the log. */
const EVENING_MS = 60_000

interface Deed {
  readonly atMs: number
  readonly act: () => Promise<void>
}

export async function runHostileDay(t: TestContext, day: Day): Promise<void> {
  await using machines = await Machines.make()
  await machines.startAll()
  const state = { isOver: false }
  const tally = new Tally()
  const random = new SeededRandom(day.seed)
  const client = await machines.clients()
  const scene: Scene = { client, data: machines.data, tally, random, isOver: () => state.isOver }
  const registry = new RegistryActor(scene)
  const edge = new EdgeActor(scene)
  await edge.prepare()
  const actors: readonly Actor[] = [
    new StorageActor(scene),
    registry,
    new IndexActor(scene, registry),
    edge,
    new InteropActor(scene),
  ]
  const startedAt = CLOCK.now()
  const stop = (): void => {
    state.isOver = true
  }
  const asking = Promise.all(actors.map(async (actor) => await actor.run())).finally(stop)
  try {
    await Promise.all([asking, beHostile(deedsOf(day, machines, random), () => state.isOver).finally(stop)])
  } finally {
    for (const line of [...tally.lines(), ...machines.fallen]) t.diagnostic(line)
  }
  t.diagnostic(
    `${Math.round((CLOCK.now() - startedAt) / 1000)} s; kills: ${[...machines.kills].map((each) => each.join(' ')).join(', ')}; full drives: ${machines.fulls}`,
  )
  await evening(t, machines, actors)
  await hold(t, day, machines, tally)
}

/** Everything at once, then everything again: what is there now is what was promised. */
async function evening(t: TestContext, machines: Machines, actors: readonly Actor[]): Promise<void> {
  await Promise.all(SERVICES.map(async (service) => await machines.kill(service, 0)))
  await untilWell(machines)
  for (const line of await Promise.all(actors.map(async (actor) => await actor.check()))) t.diagnostic(line)
  for (const command of [
    ['registry', 'trust', '-o', `${machines.data}/trust.json`],
    ['registry', 'verify', '--trust', `${machines.data}/trust.json`],
    ['audit', 'verify'],
    ['scrub', '--wait'],
  ]) {
    const { code, words } = await machines.cairn(...command, '--timeout', '60s')
    assert.equal(code, 0, `cairn ${command.join(' ')}: ${words}`)
  }
}

async function untilWell(machines: Machines): Promise<void> {
  const until = CLOCK.now() + EVENING_MS
  for (;;) {
    const { code, data } = await machines.cairn('status', '--json')
    if (code === 0) return
    assert.ok(CLOCK.now() < until, data)
    await sleep(CLOCK, 500)
  }
}

function deedsOf(day: Day, machines: Machines, random: SeededRandom): Deed[] {
  const acts: (() => Promise<void>)[] = []
  const add = (times: number, act: (at: number) => Promise<void>): void => {
    for (let at = 0; at < times; at += 1) acts.push(async () => await act(at))
  }
  for (const service of SERVICES)
    add(day.killsEach, async () => await machines.kill(service, random.next() * PAUSE_MS_MAX))
  if (machines.hasOwnDrive) add(day.fulls, async () => await machines.fill(FULL_MS))
  add(day.stalls, async (at) => await machines.stall(SERVICES[at % SERVICES.length] ?? 'storage', STALL_MS))
  add(day.reloads, async (at) => await reload(machines, at))
  // Spread over the day in any order, but for its last tenth.
  const shuffled = acts.map((act) => ({ act, order: random.next() })).sort((a, b) => a.order - b.order)
  const gapMs = (day.seconds * 900) / shuffled.length
  const deeds = shuffled.map(({ act }, at) => ({ act, atMs: (at + random.next()) * gapMs }))
  return [...deeds, { atMs: day.seconds * 1000, act: async () => await Promise.resolve() }]
}

/** Each third is one that nobody should take over. */
async function reload(machines: Machines, at: number): Promise<void> {
  const isBad = at % 3 === 2
  await machines.configure(128 + 32 * at, isBad ? 'nonsense = 1' : '')
  machines.hangUp()
  if (!isBad) return
  await sleep(CLOCK, BAD_CONFIG_MS)
  await machines.configure(256)
}

/** Does each at its time, whatever the others are at; ends early if somebody found something wrong. */
async function beHostile(deeds: readonly Deed[], isOver: () => boolean): Promise<void> {
  const startedAt = CLOCK.now()
  const underWay: Promise<void>[] = []
  for (const { atMs, act } of deeds) {
    while (CLOCK.now() - startedAt < atMs && !isOver()) await sleep(CLOCK, 20)
    if (isOver()) break
    underWay.push(act())
  }
  await Promise.all(underWay)
}

async function hold(t: TestContext, day: Day, machines: Machines, tally: Tally): Promise<void> {
  for (const service of SERVICES) {
    assert.ok((machines.kills.get(service) ?? 0) >= day.killsEach, `${service} was killed too seldom`)
    assert.ok(tally.acknowledgedBy(service) > 0, `${service} acknowledged nothing`)
  }
  assert.ok(tally.acknowledged >= day.acknowledgedMin, `only ${tally.acknowledged} were acknowledged`)
  const unexplained = machines.fallen.filter(
    (each) => !each.includes('on the full drive') && !each.includes('cairn.toml'),
  )
  assert.deepEqual(unexplained, [], 'a process ended by itself')
  t.diagnostic(`0 lost, 0 wrong of ${tally.acknowledged} acknowledged`)
  if (machines.hasOwnDrive) assert.ok(machines.fulls >= day.fulls)
  await t.test('full drives', { skip: !machines.hasOwnDrive && 'a drive of its own cannot be mounted here' }, () => {})
}
