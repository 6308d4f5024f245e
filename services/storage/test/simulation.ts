/**
 * Clients that put, read, hold and delete at random while the machine loses power again and again, and a ledger of
 * what each of them was told.
 *
 *     life 1: load ── crash at a random call ──▶ life 2: everything told in life 1 holds; load ── crash ──▶ …
 */
import assert from 'node:assert/strict'
import { type Random } from '@cairn/kernel'
import { SeededRandom } from '@cairn/kernel/testing'
import { type Address, addressOf } from '@cairn/wire'
import { type Answer } from '../../../verify/virtual/answer.ts'
import { liveThrough } from '../../../verify/virtual/lives.ts'
import { noise } from '../../../verify/virtual/noise.ts'
import { type SimulationReport, simulate } from '../../../verify/virtual/simulate.ts'
import { TestService } from './harness.ts'
import { CHUNK, clientObjectOf, frames } from './objects.ts'

const CLIENTS = 3
const OBJECTS_EACH = 3
const LIVES = 3

/** What a client knows of one of its objects. */
type Known = 'never' | 'there' | 'gone' | 'unsure'

interface Thing {
  readonly id: Address
  readonly bytes: Buffer
  known: Known
  held: 'no' | 'yes' | 'unsure'
  /** A request ran out of its budget and may still be at work: nothing is certain until the next life. */
  isMurky: boolean
}

/** Objects share chunks, so that deleting one must not hurt another. */
function thingsOf(client: number): Thing[] {
  const shared = noise(CHUNK, 900)
  return Array.from({ length: OBJECTS_EACH }, (_, at) => {
    const own = noise(500 + 30_000 * at, client * 10 + at + 1)
    const bytes = at === 0 ? own : Buffer.concat([shared, own])
    return { id: addressOf(bytes), bytes, known: 'never', held: 'no', isMurky: false }
  })
}

export interface SimulationOptions {
  readonly operations: number
  /** Faults of the drive on top of the crashes. */
  readonly faultRate: number
}

export async function simulateStorage(seed: number, options: SimulationOptions): Promise<SimulationReport> {
  return await simulate(seed, async (world) => {
    const machine = world.machine('node')
    const random = new SeededRandom(world.nextSeed())
    const clients = Array.from({ length: CLIENTS }, (_, client) => thingsOf(client))
    await liveThrough(world, machine, {
      count: LIVES,
      faultRate: options.faultRate,
      crashAfter: () => 20 + Math.floor(random.next() * 400),
      open: async () => await TestService.open({ config: { durability: { sweep_interval: '1s' } } }, world, machine),
      audit: async (service) => await mustHoldAll(service, clients.flat()),
      load: (service) => {
        const dice = clients.map(() => new SeededRandom(Math.floor(random.next() * 2 ** 32)))
        return clients.map(async (things, at) => await work(service, things, dice[at] ?? random, options.operations))
      },
    })
  })
}

async function mustHoldAll(service: TestService, things: readonly Thing[]): Promise<void> {
  for (const thing of things) {
    if (thing.isMurky) beUnsure(thing)
    thing.isMurky = false
    await mustRead(service, thing)
  }
}

async function work(service: TestService, things: readonly Thing[], random: Random, count: number): Promise<void> {
  for (let at = 0; at < count; at += 1) {
    const thing = things[Math.floor(random.next() * things.length)]
    if (thing === undefined) continue
    await operate(service, thing, random.next())
    if (thing.isMurky) beUnsure(thing)
  }
}

function beUnsure(thing: Thing): void {
  thing.known = 'unsure'
  thing.held = 'unsure'
}

/** Sends a change; one that is answered 504 may happen later. */
async function change(service: TestService, thing: Thing, method: string, target: string, body?: Buffer | Uint8Array) {
  const answer = await service.send(method, target, body === undefined ? {} : { body })
  if (answer.status === 504) thing.isMurky = true
  return answer
}

async function operate(service: TestService, thing: Thing, dice: number): Promise<void> {
  const { id, bytes } = thing
  if (dice < 0.25) await put(thing, async () => await change(service, thing, 'PUT', `/o/${id}?stream`, bytes))
  else if (dice < 0.35) await put(thing, async () => await change(service, thing, 'PUT', `/o/${id}`, bytes))
  else if (dice < 0.5) await put(thing, async () => await upload(service, thing, dice < 0.43 ? CHUNK : CHUNK / 2))
  else if (dice < 0.65) await audit(service, thing)
  else if (dice < 0.75) await hold(service, thing)
  else if (dice < 0.85) await release(service, thing)
  else await remove(service, thing)
}

/** `unsure` while it is under way: the power may go before the answer. */
async function put(thing: Thing, send: () => Promise<Answer>): Promise<void> {
  const before = thing.known
  thing.known = before === 'there' ? 'there' : 'unsure'
  const { status, code } = await send()
  if (status === 200 || status === 201) thing.known = 'there'
  else assert.match(`${status} ${code}`, REFUSED)
}

const REFUSED = /^(429 busy|503 \w+|504 timeout|507 no_space|409 missing_chunks)$/

async function upload(service: TestService, thing: Thing, chunkSize: number): Promise<Answer> {
  const { id, bytes } = thing
  if (bytes.length <= chunkSize) return await change(service, thing, 'PUT', `/o/${id}`, bytes)
  const { chunks, encoded } = clientObjectOf(bytes, chunkSize)
  const name = id.slice(3, 20)
  const sent = await service.send('POST', `/c?upload=${name}`, { body: frames(chunks.map((chunk) => chunk.bytes)) })
  if (sent.status !== 200) return sent
  return await change(service, thing, 'PUT', `/m/${id}?upload=${name}`, encoded)
}

async function hold(service: TestService, thing: Thing): Promise<void> {
  const before = thing.held
  thing.held = before === 'yes' ? 'yes' : 'unsure'
  const { status } = await change(service, thing, 'PUT', `/refs/sim/${thing.id}`)
  if (status === 204) thing.held = 'yes'
  if (status === 204) assert.ok(thing.known === 'there' || thing.known === 'unsure', `held what is ${thing.known}`)
  if (status === 404) assert.notEqual(thing.known, 'there')
  if (status === 404 && before === 'no') thing.held = 'no'
}

async function release(service: TestService, thing: Thing): Promise<void> {
  if (thing.held !== 'no') thing.held = 'unsure'
  const { status } = await change(service, thing, 'DELETE', `/refs/sim/${thing.id}`)
  if (status === 204) thing.held = 'no'
}

async function remove(service: TestService, thing: Thing): Promise<void> {
  const { known, held } = thing
  if (held !== 'yes' && known !== 'gone') thing.known = 'unsure'
  const { status, code } = await change(service, thing, 'DELETE', `/o/${thing.id}`)
  if (status === 204) {
    assert.notEqual(held, 'yes', 'what is held is not deleted')
    thing.known = 'gone'
    thing.held = 'no'
  } else if (status === 409) {
    assert.notEqual(held, 'no', 'what nobody holds is not refused')
    thing.known = known
  } else if (status === 404) {
    assert.notEqual(known, 'there', 'what is there is found')
    thing.known = known === 'never' ? 'never' : 'gone'
  } else assert.match(`${status} ${code}`, REFUSED)
}

/** With no fault about, there is an answer. */
async function mustRead(service: TestService, thing: Thing): Promise<void> {
  assert.ok(await audit(service, thing), `${thing.id.slice(0, 11)} was ${thing.known} and cannot be read`)
}

/** Reads the object and compares with what its client was told; false if the drive does not let it. */
async function audit(service: TestService, { id, bytes, known }: Thing): Promise<boolean> {
  const { status, code, body, broken } = await service.send('GET', `/o/${id}`, { token: null })
  // A drive that fails now may be read later; it never answers with other bytes, nor says that there is nothing.
  if (status === 503 || status === 504 || status === 429 || broken !== undefined) return false
  const message = `${id.slice(0, 11)} was ${known}, and is ${status} ${code ?? ''}`
  if (status === 200) {
    assert.ok(body.equals(bytes), message)
    assert.ok(known === 'there' || known === 'unsure', message)
  } else {
    assert.equal(status, 404, message)
    assert.notEqual(known, 'there', message)
  }
  return true
}
