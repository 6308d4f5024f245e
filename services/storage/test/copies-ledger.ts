/** Objects that a client puts and deletes wherever it can, what it was told about each, and whether that is still so. */
import assert from 'node:assert/strict'
import type { Random } from '@cairn/kernel'
import { type Address, addressOf } from '@cairn/wire'
import type { Answer } from '../../../verify/virtual/answer.ts'
import { noise } from '../../../verify/virtual/noise.ts'
import type { TestService } from './harness.ts'
import { CHUNK, clientObjectOf, frames } from './objects.ts'

/** What the client knows of one of its objects. */
type Known = 'never' | 'there' | 'gone' | 'unsure'

export interface Thing {
  readonly id: Address
  readonly bytes: Buffer
  known: Known
  /**
   * A change was refused in the middle of it: what it left on a target that is away may win against what is told later,
   * or not. Nothing is certain until that target is back.
   */
  isMurky: boolean
  held: 'no' | 'yes' | 'unsure'
  /** The same, of a hold or a release that was refused. */
  isHoldMurky: boolean
}

/** Everything is back and compared: what a refused change left is everywhere now, or nowhere. */
export function settle(thing: Thing): void {
  if (thing.isMurky) thing.known = 'unsure'
  if (thing.isMurky || thing.isHoldMurky) thing.held = 'unsure'
  thing.isMurky = false
  thing.isHoldMurky = false
}

const SMALL_CHUNK = 32 * 1024

const REFUSED = /^(429 busy|503 \w+|504 timeout|507 no_space|409 missing_chunks)$/

/** Objects that share a chunk with each other, so that losing one must not hurt another; each is larger than the last. */
export function thingsOf(count: number, seed: number, growthBytes = 9_000): Thing[] {
  const shared = noise(CHUNK, 900)
  return Array.from({ length: count }, (_, at) => {
    const own = noise(300 + growthBytes * at, seed * 100 + at + 1)
    const bytes = at % 3 === 2 ? Buffer.concat([shared, own]) : own
    return { id: addressOf(bytes), bytes, known: 'never', isMurky: false, held: 'no', isHoldMurky: false }
  })
}

/** Some operations of two clients at a time, each of which has things of its own; some of one thing by both at once. */
export async function load(
  services: readonly TestService[],
  things: readonly Thing[],
  random: Random,
  operations: number,
): Promise<void> {
  const pick = <T>(from: readonly T[]): T | undefined => from[Math.floor(random.next() * from.length)]
  const up = (): TestService | undefined => pick(services.filter(({ machine }) => machine.isUp))
  for (let at = 0; at < operations; at += 2) {
    const [first, second] = [
      pick(things.filter((_, each) => each % 2 === 0)),
      pick(things.filter((_, each) => each % 2 === 1)),
    ]
    const [here, there] = [up(), up()]
    if (first === undefined || second === undefined || here === undefined || there === undefined) return
    if (first.held === 'no' && !first.isHoldMurky && random.next() < 0.2)
      await orDown([here, there], [first], rivals(here, there, first, random))
    else
      await Promise.all([
        orDown([here], [first], operate(here, first, random)),
        orDown([there], [second], operate(there, second, random)),
      ])
  }
}

/** The power may go before the answer; then nobody was told, and what was under way may be anywhere. */
async function orDown(services: readonly TestService[], things: readonly Thing[], work: Promise<void>): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<'done' | 'down'>()
  for (const { machine } of services) machine.onceDown(() => resolve('down'))
  work.then(() => resolve('done'), reject)
  if ((await promise) === 'down') for (const thing of things) thing.isMurky = true
}

/** Both change the same thing: whichever is last counts, and if they agree there is no doubt. */
async function rivals(here: TestService, there: TestService, thing: Thing, random: Random): Promise<void> {
  const arePuts = [random.next() < 0.5, random.next() < 0.5]
  thing.known = 'unsure'
  const answers = await Promise.all(
    [here, there].map(async (service, at) =>
      arePuts[at] === true ? await send(service, thing, random.next()) : await service.send('DELETE', `/o/${thing.id}`),
    ),
  )
  const done = answers.filter(({ status }) => status < 300 || status === 404)
  for (const { status, code } of answers) if (status >= 300 && status !== 404) refused(thing, status, code)
  if (done.length < 2 || arePuts[0] !== arePuts[1]) return
  if (arePuts[0] === true) thing.known = 'there'
  else if (!thing.isMurky) thing.known = 'gone'
}

async function operate(service: TestService, thing: Thing, random: Random): Promise<void> {
  const dice = random.next()
  if (dice < 0.45) await put(service, thing, random.next())
  else if (dice < 0.65) await remove(service, thing)
  else if (dice < 0.8) await hold(service, thing, random.next() < 0.7)
  else await audit(service, thing)
}

async function put(service: TestService, thing: Thing, dice: number): Promise<void> {
  if (thing.known !== 'there') thing.known = 'unsure'
  const { status, code } = await send(service, thing, dice)
  if (status === 200 || status === 201) thing.known = 'there'
  else refused(thing, status, code)
}

/** Whole, as a stream, or as chunks of another size and their list. */
async function send(service: TestService, { id, bytes }: Thing, dice: number): Promise<Answer> {
  if (dice < 0.8 || bytes.length <= SMALL_CHUNK)
    return await service.send('PUT', `/o/${id}${dice < 0.3 ? '?stream' : ''}`, { body: bytes })
  const { chunks, encoded } = clientObjectOf(bytes, SMALL_CHUNK)
  const upload = id.slice(3, 20)
  const sent = await service.send('POST', `/c?upload=${upload}`, { body: frames(chunks.map((chunk) => chunk.bytes)) })
  return sent.status === 200 ? await service.send('PUT', `/m/${id}?upload=${upload}`, { body: encoded }) : sent
}

function refused(thing: Thing, status: number, code: string | undefined): void {
  assert.match(`${status} ${code}`, REFUSED)
  thing.isMurky = true
}

async function remove(service: TestService, thing: Thing): Promise<void> {
  const { known } = thing
  if (known !== 'gone') thing.known = 'unsure'
  const { status, code } = await service.send('DELETE', `/o/${thing.id}`)
  if (status === 204) {
    mustNotBe(thing, 'yes', 'was deleted')
    thing.known = 'gone'
    thing.held = 'no'
  } else if (`${status} ${code}` === '409 referenced') {
    mustNotBe(thing, 'no', 'cannot be deleted')
    thing.known = known
  } else if (status === 404) {
    assert.ok(known !== 'there' || thing.isMurky, 'what is there is found')
    // A put that was not told as done may be on a target that is away, and come back.
    thing.known = known
  } else refused(thing, status, code)
}

/** Holds the thing, or lets go of it. */
async function hold(service: TestService, thing: Thing, isHold: boolean): Promise<void> {
  if (thing.held !== (isHold ? 'yes' : 'no')) thing.held = 'unsure'
  const { status, code } = await service.send(isHold ? 'PUT' : 'DELETE', `/refs/ledger/${thing.id}`)
  if (status === 204) thing.held = isHold ? 'yes' : 'no'
  else if (status === 404) assert.ok(thing.known !== 'there' || thing.isMurky, 'what is there can be held')
  else {
    assert.match(`${status} ${code}`, REFUSED)
    thing.isHoldMurky = true
  }
}

/** Of what was not certain nothing can be said. */
function mustNotBe({ id, held, isMurky, isHoldMurky }: Thing, not: Thing['held'], but: string): void {
  const isCertain = !isMurky && (held === 'yes' || !isHoldMurky)
  assert.ok(!isCertain || held !== not, `Held or not: ${held}. ${id.slice(0, 11)} ${but}.`)
}

/** With everything back, what is held cannot be deleted, and what is not held can. */
export async function mustBeHeldAsTold(service: TestService, thing: Thing): Promise<void> {
  if (thing.known === 'there') await remove(service, thing)
}

/** While targets are away a copy may be read that was deleted elsewhere; other bytes, or a lost object, never. */
async function audit(service: TestService, { id, bytes, known, isMurky }: Thing): Promise<void> {
  const { status, code, body, broken } = await service.send('GET', `/o/${id}`, { token: null })
  if (status >= 429 || broken !== undefined) {
    assert.notEqual(code, 'integrity', `${id.slice(0, 11)} is damaged everywhere`)
    return
  }
  const message = `${id.slice(0, 11)} was ${known}, and is ${status} ${code ?? ''}`
  if (status === 200) assert.ok(body.equals(bytes) && known !== 'never', message)
  else assert.ok(status === 404 && (known !== 'there' || isMurky), message)
}

/** With everything back and time to repair, every node says the same, and what the client was told. */
export async function mustHold(service: TestService, { id, bytes, known }: Thing, where: string): Promise<number> {
  const { status, code, body } = await service.send('GET', `/o/${id}`, { token: null })
  const message = `${id.slice(0, 11)} was ${known}, and is ${status} ${code ?? ''} at ${where}`
  if (status === 200) assert.ok(body.equals(bytes) && (known === 'there' || known === 'unsure'), message)
  else assert.ok(status === 404 && known !== 'there', message)
  return status
}
