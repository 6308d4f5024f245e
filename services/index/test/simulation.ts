/**
 * Clients that ask, pin and name at random, in a network that is late, wrong or silent, while the machine loses power
 * again and again; and a ledger of what each of them was told.
 *
 *     life 1: load ── crash at a random call ──▶ life 2: every pin and name told in life 1 holds; load ── crash ──▶ …
 *
 * What holds all the time: an answer is about what was asked, in time, and says no more than somebody signed; nothing is
 * found that nobody holds; a name is never anything but one of the meanings it was given.
 */
import assert from 'node:assert/strict'
import { type Random } from '@cairn/kernel'
import { SeededRandom } from '@cairn/kernel/testing'
import { type Address, addressOf } from '@cairn/wire'
import { type Answer } from '../../../verify/virtual/answer.ts'
import { workOrDown } from '../../../verify/virtual/lives.ts'
import { type SimulationReport, simulate } from '../../../verify/virtual/simulate.ts'
import { TestStorage } from './dependencies.ts'
import { TestService } from './harness.ts'
import { type Behaviour, signedProvider, TestNetwork } from './network.ts'

const CLIENTS = 4
const LIVES = 3
const OBJECTS = 12
const NAMES = 3
/** The budget, what a stalled drive and a full loop may add, and nothing more. */
const LATEST_MS = 1250
const REFUSED = /^(404 not_found|429 over_capacity|503 \w+|504 timeout)$/
const WALL = 1_700_000_000_000

const object = (at: number): Address => addressOf(Buffer.from(`object ${at}`))

/** What was told, and what was only tried: a request under way at a power cut may or may not have counted. */
interface Oracle {
  readonly pins: Map<Address, boolean | 'either'>
  readonly names: Map<string, { readonly tried: Set<Address>; isTold: boolean }>
}

export interface SimulationOptions {
  readonly operations: number
}

export async function simulateIndex(seed: number, options: SimulationOptions): Promise<SimulationReport> {
  return await simulate(seed, async (world) => {
    const machine = world.machine('node')
    const random = new SeededRandom(world.nextSeed())
    const weather = new SeededRandom(world.nextSeed())
    const oracle: Oracle = { pins: new Map(), names: new Map() }
    const storage = new TestStorage()
    for (let at = 0; at < 3; at += 1) storage.objects.add(object(at))
    for (let life = 1; life <= LIVES; life += 1) {
      const network = new TestNetwork((cid) => peersFor(cid, weather))
      const service = await TestService.open({ network, storage: storage.client }, world, machine)
      audit(service, oracle)
      const isLast = life === LIVES
      if (!isLast) machine.crashAfter(5 + Math.floor(random.next() * 40))
      const clients = Array.from({ length: CLIENTS }, async (_, client) => {
        await work(service, client, new SeededRandom(world.nextSeed()), oracle, options.operations)
      })
      await workOrDown(world, machine, clients)
      if (!isLast) {
        machine.crash()
        continue
      }
      await world.sleep(2000)
      // What is pinned is looked up again and again, whether or not a client asks.
      if (service.parts.intake.facts().working === 0) assert.equal(network.running, 0, 'a lookup outlived its question')
      await service.shutDown()
      assert.equal(network.running, 0, 'a lookup outlived its service')
    }
  })
}

/** Objects 3 to 7 are held by somebody; nobody holds the others. Each peer does something else each time. */
function peersFor(cid: Address, weather: Random): readonly Behaviour[] {
  const isHeld = [3, 4, 5, 6, 7].some((at) => object(at) === cid)
  return Array.from({ length: 6 }, (): Behaviour => {
    const dice = weather.next()
    const afterMs = Math.floor(weather.next() * 400)
    if (dice < 0.15) return { does: 'hang' }
    if (dice < 0.35) return { does: 'fail', afterMs }
    if (!isHeld || dice < 0.5) return { does: 'nothing', afterMs }
    return { does: 'find', afterMs, providers: () => [signedProvider(2 + Math.floor(dice * 8), cid, WALL)] }
  })
}

/** What is durable in this life is what was told in those before. */
function audit({ parts }: TestService, { pins, names }: Oracle): void {
  for (const [cid, isPinned] of pins) {
    if (isPinned === 'either') pins.set(cid, parts.overrides.pins.has(cid))
    else assert.equal(parts.overrides.pins.has(cid), isPinned, `the pin of ${cid}`)
  }
  for (const [name, { tried, isTold }] of names) {
    const meaning = parts.overrides.name(name)
    const isRight = meaning === undefined ? !isTold : tried.has(meaning)
    assert.ok(isRight, `${name} means ${String(meaning)}`)
    names.set(name, { tried: new Set(meaning === undefined ? [] : [meaning]), isTold: meaning !== undefined })
  }
}

async function work(
  service: TestService,
  client: number,
  random: Random,
  oracle: Oracle,
  count: number,
): Promise<void> {
  for (let at = 0; at < count; at += 1) {
    const dice = random.next()
    const cid = object(Math.floor(random.next() * OBJECTS))
    if (dice < 0.4) await resolve(service, cid, random.next() < 0.2)
    else if (dice < 0.6) await providers(service, cid)
    else if (dice < 0.7)
      await askName(service, `name-${Math.floor(random.next() * NAMES)}@1`, random.next() < 0.2, oracle)
    // Each client has pins of its own, so that it knows what the last word was.
    else if (dice < 0.85)
      await pin(service, object(client + CLIENTS * Math.floor(random.next() * 2)), random.next() < 0.6, oracle)
    else await putName(service, `name-${Math.floor(random.next() * NAMES)}@1`, cid, oracle)
  }
}

async function timed(service: TestService, path: string): Promise<Answer> {
  const startedAt = service.platform.clock.now()
  const answer = await service.send('GET', path)
  const tookMs = service.platform.clock.now() - startedAt
  assert.ok(tookMs <= LATEST_MS, `${path} took ${tookMs} ms`)
  if (answer.status !== 200) assert.match(`${answer.status} ${answer.code}`, REFUSED)
  return answer
}

async function resolve(service: TestService, cid: Address, isFresh: boolean): Promise<void> {
  const answer = await timed(service, `/resolve/${cid}${isFresh ? '?fresh=true' : ''}`)
  if (answer.status !== 200) return
  assert.equal(answer.fields()['manifest_cid'], cid)
  assert.ok(isHeld(cid), `${cid} was found, and nobody holds it`)
}

async function providers(service: TestService, cid: Address): Promise<void> {
  const answer = await timed(service, `/providers/${cid}`)
  if (answer.status !== 200) return
  const { cid: told, providers: found } = answer.json() as { cid: Address; providers: { class: string }[] }
  assert.equal(told, cid)
  assert.ok(found.length > 0 && found.every((each) => each.class !== 'unverified'))
}

function isHeld(cid: Address): boolean {
  return Array.from({ length: 8 }, (_, at) => object(at)).includes(cid)
}

async function askName(service: TestService, name: string, isFresh: boolean, { names }: Oracle): Promise<void> {
  const wasTold = names.get(name)?.isTold === true
  const answer = await timed(service, `/resolve/name:${name}${isFresh ? '?fresh=true' : ''}`)
  const meaning = answer.status === 200 ? (answer.fields()['manifest_cid'] as Address) : undefined
  if (meaning !== undefined) assert.ok(names.get(name)?.tried.has(meaning), `${name} means what nobody said`)
  if (answer.status === 404) assert.ok(!wasTold, `${name} was forgotten`)
}

async function pin(service: TestService, cid: Address, isPinned: boolean, { pins }: Oracle): Promise<void> {
  pins.set(cid, 'either')
  const { status } = await service.send('POST', `/admin/${isPinned ? 'pin' : 'unpin'}`, { body: { cid } })
  if (status === 200) pins.set(cid, isPinned)
}

async function putName(service: TestService, name: string, cid: Address, { names }: Oracle): Promise<void> {
  const row = names.get(name) ?? { tried: new Set<Address>(), isTold: false }
  names.set(name, row)
  row.tried.add(cid)
  const { status } = await service.send('PUT', `/admin/names/${name}`, { body: { manifest_cid: cid } })
  if (status === 200) row.isTold = true
}
