/**
 * One fill for each key, and everybody who waits for it.
 *
 *     nobody ── join ──▶ flying (waiting ≥ 1) ── land ──▶ over            whoever waits is told
 *                          │ ▲
 *                     leave│ │join                leave of the last ──▶ over: abandoned, nobody wants it any more
 *                          └─┘
 *
 * 1 At most one flight of a key is in the table; whoever joins while it is there joins that one.
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

export type Flights<F extends Flight> = Map<string, F>

export function join<F extends Flight>(
  flights: Flights<F>,
  key: string,
  begin: () => F,
): { readonly flight: F; readonly isFirst: boolean } {
  const known = flights.get(key)
  if (known !== undefined) {
    known.waiting += 1
    return { flight: known, isFirst: false }
  }
  const flight = begin()
  flight.waiting += 1
  flights.set(key, flight)
  return { flight, isFirst: true }
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

/** What these keys mean has changed: flights that began before go on for those who wait, and are joined by nobody. */
export function outdate<F extends Flight>(flights: Flights<F>, isConcerned: (key: string) => boolean): number {
  let count = 0
  for (const [key, flight] of flights) {
    if (!isConcerned(key)) continue
    flight.isOutdated = true
    flights.delete(key)
    count += 1
  }
  return count
}

function end<F extends Flight>(flights: Flights<F>, flight: F): void {
  flight.isOver = true
  // A later flight of the same key is none of ours.
  if (flights.get(flight.key) === flight) flights.delete(flight.key)
}
