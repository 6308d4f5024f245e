/**
 * A service that lives several times on one machine, with clients and a ledger of what each was told.
 *
 *     life 1: load ── crash at a random call ──▶ life 2: everything told in life 1 holds; load ── crash ──▶ …
 *
 * The last life ends in order, once everything told has been found to hold.
 */
import type { VirtualMachine } from './machine.ts'
import type { VirtualWorld } from './world.ts'

/** Long enough for a drive that failed to have proved itself again. */
const RECOVERY_MS = 6_000

export interface Lives<S> {
  readonly count: number
  /** Faults of the drive on top of the crashes. */
  readonly faultRate: number
  /** After how many calls the power goes. */
  crashAfter(): number
  open(): Promise<S>
  /** Fails unless everything told holds. */
  audit(service: S): Promise<void>
  /** One for each client. */
  load(service: S): readonly Promise<void>[]
}

export async function liveThrough<S extends { shutDown(): Promise<void> }>(
  world: VirtualWorld,
  machine: VirtualMachine,
  lives: Lives<S>,
): Promise<void> {
  for (let life = 1; life <= lives.count; life += 1) {
    machine.faults.clear()
    const service = await lives.open()
    await lives.audit(service)
    const isLast = life === lives.count
    if (!isLast) machine.crashAfter(lives.crashAfter())
    machine.faults.rates = { 'io-error': lives.faultRate, 'short-write': lives.faultRate }
    await workOrDown(world, machine, lives.load(service))
    machine.faults.clear()
    if (!isLast) {
      machine.crash()
      continue
    }
    await world.sleep(RECOVERY_MS)
    await lives.audit(service)
    await service.shutDown()
  }
}

/** Lets every client work until it is done or the power is gone; what was under way then never settles. */
export async function workOrDown(
  world: VirtualWorld,
  machine: VirtualMachine,
  clients: readonly Promise<void>[],
): Promise<void> {
  const state = { active: clients.length }
  const failures: unknown[] = []
  for (const client of clients) {
    client
      .catch((error: unknown) => failures.push(error))
      .finally(() => {
        state.active -= 1
      })
  }
  while (state.active > 0 && machine.isUp) await world.sleep(5)
  if (failures.length > 0) throw failures[0]
}
