import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { test } from 'node:test'
import { SystemClock } from '@cairn/kernel'
import { freePorts } from '@cairn/platform/testing'
import { addressOf } from '@cairn/wire'
import { Home } from '../../../node/test/running-node.ts'
import { Member, pause, until } from './cluster.ts'
import { objectsOf, putAll, readAll } from './objects.ts'

const BUDGET = 2 * 1024 * 1024
const CLOCK = new SystemClock()
const SAMPLE_MS = 40

/** Bytes that had been moved at some moment between the two times. */
interface Sample {
  readonly askedAt: number
  readonly toldAt: number
  readonly bytes: number
}

/** Samples the bytes repairs have moved, until told to end; what they had at each time. */
async function watch(member: Member, isOver: () => boolean): Promise<Sample[]> {
  const samples: Sample[] = []
  while (!isOver()) {
    const askedAt = CLOCK.now()
    const bytes = await member.metric('repair_bytes_total{phase="executed"')
    samples.push({ askedAt, toldAt: CLOCK.now(), bytes })
    await pause(SAMPLE_MS)
  }
  return samples
}

/**
 * Seconds from before the first byte was moved until after the last was counted. However long a machine takes in between,
 * only more comes out: what is moved a second on average can be held to the budget.
 */
function secondsOfMoving(samples: readonly Sample[]): number {
  const first = samples.findLast(({ bytes }) => bytes === 0) ?? samples[0]
  const last = samples.find(({ bytes }) => bytes === samples.at(-1)?.bytes)
  return ((last?.toldAt ?? 0) - (first?.askedAt ?? 0)) / 1000
}

test('three drives, two copies: the directory of one is deleted under load', async (t) => {
  await using home = await Home.make()
  const port = await freePorts(1)
  const drives = ['d1', 'd2', 'd3'].map((name) => `{ path = "${home.path}/${name}", domain = "${name}" }`)
  const member = new Member(home, {
    name: 'a',
    address: `127.0.0.1:${port}`,
    peers: [],
    storage: [`drives = [${drives.join(', ')}]`, 'cache_bytes = 0'],
    durability: [`repair_pacing = ${BUDGET}`],
  })
  await member.start()
  const objects = objectsOf(60, 3)
  await putAll(member, objects)
  const state = { isOver: false }
  const watching = watch(member, () => state.isOver)
  await rm(`${home.path}/d2`, { recursive: true })
  const more = objectsOf(10, 4)
  for (const bytes of more) {
    await readAll([member], [objects[more.indexOf(bytes)]!])
    // Until the loss is noticed a write may be refused; it is told, never taken back.
    await until(
      'a write goes to the drives that are left',
      async () => (await member.ask('PUT', `/o/${addressOf(bytes)}?stream`, bytes)).status,
      (status) => status < 300,
    )
  }
  const all = [...objects, ...more]
  const isRestored = await until(
    'the loss was noticed, and every object has two copies again',
    async () => await member.report(),
    // Before a look at the drives finds it gone its copies count as well: the files are open.
    ({ places, copies, repairs }) =>
      places.some(({ state }) => state === 'down') &&
      copies?.full === all.length &&
      copies.under + copies.single === 0 &&
      repairs.pending === 0,
  )
  state.isOver = true
  const samples = await watching
  await readAll([member], all)
  assert.match(JSON.stringify(isRestored.places), /"state":"down","why":"The drive \w{8} is not at/)
  const moved = samples.at(-1)?.bytes ?? 0
  const seconds = secondsOfMoving(samples)
  t.diagnostic(`${moved} bytes repaired in ${seconds.toFixed(1)} s, of ${BUDGET} bytes a second`)
  assert.ok(moved > 1024 * 1024)
  // The first second's are there at once.
  assert.ok(moved <= BUDGET * (1 + seconds))
  assert.ok((isRestored.observed_copies ?? 0) < 2, 'copies that nobody has read are not counted')
  await member.ask('POST', '/admin/scrub')
  await until(
    'two copies of everything were read',
    async () => await member.metric('rf_observed'),
    (copies) => copies === 2,
  )
})
