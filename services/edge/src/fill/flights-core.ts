/**
 * One fill for each key, and everybody who waits for it.
 *
 *     nobody ── join ──▶ flying (waiting ≥ 1) ── land ──▶ over            whoever waits is told
 *                          │ ▲       │
 *                     leave│ │join   │            leave of the last ──▶ over: abandoned, nobody wants it any more
 *                          └─┘       └─ join of a request that it does not answer ──▶ replaced: goes on outside the table
 *
 * 1 At most one flight of a key is in the table; a request that it may answer joins it, any other takes its place.
 * 2 A flight goes on as long as anybody waits for it, whoever began it; and to its end once everything has arrived.
 * 3 What is over is not in the table: the next to join begins anew, and never waits for what has ended.
 */

export interface Flight {
  readonly key: string
  waiting: number
  /** Everything has arrived: what is left to do is done, whoever leaves. */
  isWhole: boolean
  isOver: boolean
  /** What it brings was made invalid while it came: those who wait get it, nobody else does. */
  isOutdated: boolean
}

export interface Flights<F extends Flight> {
  /** Those that requests may join. */
  readonly byKey: Map<string, F>
  /** Under way outside the table: begun alone, or replaced by a later flight of their key. */
  readonly apart: Set<F>
}

export function createFlights<F extends Flight>(): Flights<F> {
  return { byKey: new Map(), apart: new Set() }
}

/** Joins the flight of the key, if it may answer this request; otherwise begins one, which takes its place. */
export function join<F extends Flight>(
  { byKey, apart }: Flights<F>,
  key: string,
  begin: () => F,
  mayJoin: (flight: F) => boolean,
): { readonly flight: F; readonly isFirst: boolean } {
  const known = byKey.get(key)
  if (known !== undefined && mayJoin(known)) {
    known.waiting += 1
    return { flight: known, isFirst: false }
  }
  // It goes on for those who wait, and still stores what it brings: an invalidation must find it.
  if (known !== undefined) apart.add(known)
  const flight = begin()
  flight.waiting += 1
  byKey.set(key, flight)
  return { flight, isFirst: true }
}

/** A flight that no other request joins. */
export function depart<F extends Flight>({ apart }: Flights<F>, flight: F): void {
  flight.waiting += 1
  apart.add(flight)
}

/** Somebody waits no longer. `abandoned` if that was the last: the flight is over, and its work is to be stopped. */
export function leave<F extends Flight>(flights: Flights<F>, flight: F): 'goes-on' | 'abandoned' {
  flight.waiting -= 1
  if (flight.waiting > 0 || flight.isWhole || flight.isOver) return 'goes-on'
  end(flights, flight)
  return 'abandoned'
}

/** The work is done, well or not. */
export function land<F extends Flight>(flights: Flights<F>, flight: F): void {
  if (!flight.isOver) end(flights, flight)
}

/** What these keys mean has changed: flights that began before go on for those who wait, and are joined by no request. */
export function outdate<F extends Flight>({ byKey, apart }: Flights<F>, isConcerned: (key: string) => boolean): number {
  let count = 0
  for (const flight of apart) {
    if (flight.isOutdated || !isConcerned(flight.key)) continue
    flight.isOutdated = true
    count += 1
  }
  for (const [key, flight] of byKey) {
    if (!isConcerned(key)) continue
    flight.isOutdated = true
    byKey.delete(key)
    count += 1
  }
  return count
}

function end<F extends Flight>({ byKey, apart }: Flights<F>, flight: F): void {
  flight.isOver = true
  apart.delete(flight)
  // A later flight of the same key is none of ours.
  if (byKey.get(flight.key) === flight) byKey.delete(flight.key)
}
