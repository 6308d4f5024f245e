/** How the index names what can go wrong, where it has a name of its own for it. */
import { CairnError } from '@cairn/kernel'

/** What the pipeline calls an error, and what this service's clients know it as. */
export const INDEX_CODES: Readonly<Record<string, string>> = {
  malformed: 'bad_request',
  ratio_cap: 'bad_request',
  decompress_cap: 'bad_request',
  busy: 'over_capacity',
  too_many_connections: 'over_capacity',
  breaker_open: 'upstream_unready',
  canceled: 'upstream_unready',
  draining: 'upstream_unready',
  storage_busy: 'upstream_unready',
}

export function noSuchName(name: string): CairnError {
  return new CairnError('NotFound', `The name ${name} was not found.`)
}

export function noProviders(cid: string): CairnError {
  return new CairnError('NotFound', `No provider of ${cid} was found.`)
}

/** Whoever could know does not answer. */
export function upstreamUnready(detail: string): CairnError {
  return new CairnError('StorageBusy', detail, { code: 'upstream_unready', retryAfterMs: 1000 })
}

/** Waiting would take longer than the request has. */
export function wouldWait(expectedMs: number, leftMs: number): CairnError {
  const detail = `A lookup would wait about ${Math.ceil(expectedMs)} ms for its turn and has ${Math.floor(leftMs)} ms left; try again soon.`
  return new CairnError('Busy', detail, { retryAfterMs: Math.max(1000, expectedMs) })
}

export function routeFull(max: number): CairnError {
  return new CairnError('Busy', `${max} requests of this route wait already; try again soon.`, { retryAfterMs: 1000 })
}

export function overQuota(what: string, perMinute: number, retryAfterMs: number): CairnError {
  const detail = `This index takes ${perMinute} ${what} a minute; wait.`
  return new CairnError('Busy', detail, { retryAfterMs: Math.max(1000, retryAfterMs) })
}

export function tooMany(what: string, max: number): CairnError {
  return new CairnError('Conflict', `There are ${max} ${what} already; remove some first.`, { code: 'limit_reached' })
}

/** Names come from the registry alone where there is one. */
export function registrySpeaks(): CairnError {
  const detail = 'This node has a registry, so names are proposed and approved there; see `cairn name propose`.'
  return new CairnError('Conflict', detail, { code: 'registry_configured' })
}
