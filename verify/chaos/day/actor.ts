/** Somebody who asks a service all day, keeps what it was promised, and comes back for it in the evening. */
import { type Random, SystemClock, sleep } from '@cairn/kernel'
import { SeededRandom } from '@cairn/kernel/testing'
import { type Answer, ConnectionLost, type HttpClient } from '../node/http-client.ts'
import type { Tally } from './tally.ts'

export interface Scene {
  /** Asks a service as its administrator; across its deaths. */
  readonly client: (service: string) => HttpClient
  readonly data: string
  readonly tally: Tally
  readonly random: SeededRandom
  readonly isOver: () => boolean
}

export interface Actor {
  run(): Promise<void>
  /** Throws unless everything promised is there, and nothing else than was asked for. Says what was looked at. */
  check(): Promise<string>
}

const CLOCK = new SystemClock()
const PAUSE_MS = 15
const GONE_PAUSE_MS = 100
const EVENING_MS = 30_000

/** So many at once, each asking one thing after the other until the day is over. Anything wrong ends the day. */
export async function atOnce(
  scene: Scene,
  service: string,
  count: number,
  step: (worker: number, random: Random) => Promise<void>,
): Promise<void> {
  const work = async (worker: number, random: Random): Promise<void> => {
    while (!scene.isOver()) {
      try {
        await step(worker, random)
        await sleep(CLOCK, PAUSE_MS)
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error
        scene.tally.cut(service)
        await sleep(CLOCK, GONE_PAUSE_MS)
      }
    }
  }
  const seeds = Array.from({ length: count }, () => new SeededRandom(Math.floor(scene.random.next() * 2 ** 32)))
  await Promise.all(seeds.map(async (random, worker) => await work(worker, random)))
}

/** True for the answer that was hoped for; anything else must be a refusal that says why and is nobody's fault. */
export function isAnswered(
  { tally }: Scene,
  service: string,
  what: string,
  answer: Answer,
  hoped: readonly number[],
): boolean {
  const { status, code, body } = answer
  if (hoped.includes(status)) {
    tally.acknowledge(service)
    return true
  }
  // Busy, away, full, late: each with a code. A wrong answer, a defect or a refusal without a word is none of these.
  if (code === '' || ![404, 409, 429, 502, 503, 504, 507].includes(status))
    throw new Error(`${service}: ${what} is answered ${status} ${code}: ${body.toString().slice(0, 300)}`)
  tally.refuse(service, `${what} ${status} ${code}`)
  return false
}

export function pick<T>(from: readonly T[], random: Random): T | undefined {
  return from[Math.floor(random.next() * from.length)]
}

/** In the evening: a service that has only just come back may answer 503, and is asked again. */
export async function askPatiently(client: HttpClient, path: string): Promise<Answer> {
  for (const until = CLOCK.now() + EVENING_MS; ; await sleep(CLOCK, GONE_PAUSE_MS)) {
    const answer = await client.ask('GET', path)
    if (![429, 502, 503, 504].includes(answer.status) || CLOCK.now() > until) return answer
  }
}
