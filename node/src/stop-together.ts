/**
 * The services of a process stop together, from the outside in.
 *
 *     edge ─────┬─▶ index ─┬─▶ registry ─▶ storage        ─▶ calls, and so has to be done before
 *     interop ──┴──────────┴───────▲──────────▲
 *
 * All of them refuse clients from the same moment on. A service goes on serving those that call it until they have no
 * task left, because what they accepted has to be answered as it should be. The order follows from who calls whom, so a
 * new service has its place as soon as it has its grants.
 */
import type { StopReport } from '@cairn/kernel'
import type { StopTogether } from '@cairn/platform'
import { callersOf } from './neighbours.ts'

export interface Stoppable {
  readonly name: string
  readonly drainDeadlineMs: number
  readonly stop: (together: StopTogether) => Promise<StopReport>
}

/** Stops all of them; resolves with their reports, in the order they were given, once every port is closed. */
export async function stopTogether(services: readonly Stoppable[]): Promise<StopReport[]> {
  const drained = new Map(services.map(({ name }) => [name, Promise.withResolvers<void>()]))
  return await Promise.all(
    services.map(async ({ name, stop }) => {
      const done = drained.get(name)
      const onDrained = (): void => done?.resolve()
      const inFront = callersOf(name).flatMap((caller) => {
        const caught = drained.get(caller)
        return caught === undefined ? [] : [[caller, caught.promise] as const]
      })
      try {
        return await stop({
          dependents: new Map(inFront),
          drainDeadlineMs: deadlineOf(name, services),
          onDrained,
        })
      } finally {
        // However its stop ended, nobody behind it waits for ever.
        onDrained()
      }
    }),
  )
}

/** What a service waits for may not take longer than it: it has the latest deadline of all in front of it. */
function deadlineOf(name: string, services: readonly Stoppable[]): number {
  const own = services.find((service) => service.name === name)?.drainDeadlineMs ?? 0
  return Math.max(own, ...callersOf(name).map((caller) => deadlineOf(caller, services)))
}
