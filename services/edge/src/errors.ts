/** How the edge names what can go wrong, where it has a name of its own for it. */
import { CairnError } from '@cairn/kernel'
import type { Address } from '@cairn/wire'

/** What the pipeline and the layers below call an error, and what this service's clients know it as. */
export const EDGE_CODES = {
  busy: 'rate_limit',
  too_many_connections: 'rate_limit',
  too_large: 'body_cap',
  // What the index says of a name that cannot be one.
  bad_request: 'malformed',
  unreachable: 'upstream',
  connection_lost: 'upstream',
  bad_answer: 'upstream',
  tls_untrusted: 'upstream',
} as const satisfies Readonly<Record<string, string>>

/** The stable reasons, in `code` and in the header `X-Reason`; `edge_rejects_total` counts these and no others. */
export const REJECT_REASONS = [
  'amnesia',
  'not_allowed',
  'body_cap',
  'decompress_cap',
  'ratio_cap',
  'timeout',
  'rate_limit',
  'invalid_range',
  'etag_invalid',
  'draining',
  'upstream',
] as const

/** How a fill can fail, whoever asked for it. */
export const FILL_ERRORS = {
  not_allowed: 403,
  rate_limit: 429,
  upstream: 502,
  etag_invalid: 502,
  decompress_cap: 502,
  body_cap: 502,
  amnesia: 503,
  timeout: 504,
} as const

/** How an answer about bytes that are there can fail. */
export const READ_ERRORS = { not_found: 404, precondition_failed: 412, invalid_range: 416 } as const

export function notAllowed(why: string): CairnError {
  return new CairnError('RejectPolicy', why, { code: 'not_allowed' })
}

export function invalidRange(detail: string): CairnError {
  return new CairnError('Malformed', detail, { code: 'invalid_range', status: 416 })
}

export function preconditionFailed(): CairnError {
  const detail = 'What is here is not what the request names.'
  return new CairnError('Conflict', detail, { code: 'precondition_failed', status: 412 })
}

export function etagInvalid(why: string): CairnError {
  return new CairnError('Integrity', `The upstream ${why}; its answer is not used.`, { code: 'etag_invalid' })
}

/** The other side speaks, but not so that it could be used. */
export function badUpstream(why: string): CairnError {
  return new CairnError('Integrity', `The upstream ${why}.`, { code: 'upstream' })
}

/** A body larger than what is taken: the upstream's doing, not the client's. */
export function fillTooLarge(bytesMax: number): CairnError {
  const detail = `The upstream's body has more than ${bytesMax} bytes; see edge.max_fill_bytes.`
  return new CairnError('Integrity', detail, { code: 'body_cap' })
}

export function inflatesTooFar(bytesMax: number): CairnError {
  const detail = `Decoded, the body has more than ${bytesMax} bytes; accept the coding it is stored in.`
  return new CairnError('Integrity', detail, { code: 'decompress_cap' })
}

export function noRoomInMemory(bytesMax: number): CairnError {
  const detail = `Without a disk the cache has room for ${bytesMax} bytes, and this is more.`
  return new CairnError('StorageBusy', detail, { code: 'amnesia', retryAfterMs: 1000 })
}

export function noSuchObject(id: Address): CairnError {
  return new CairnError('NotFound', `There is no object ${id} here, and no provider of it answered.`)
}

export function noSuchName(name: string): CairnError {
  return new CairnError('NotFound', `The name ${JSON.stringify(name)} was not found; commit it to the registry first.`)
}

/** Reading it would take too much time and memory for a request. */
export function directoryTooLarge(id: Address, bytesMax: number, cause: unknown): CairnError {
  const detail = `The directory ${id} has more than ${bytesMax} bytes; split it into sub-directories, or raise edge.max_directory_bytes.`
  return new CairnError('Malformed', detail, { code: 'directory_too_large', status: 422, cause })
}

export function noSuchFile(path: string): CairnError {
  return new CairnError('NotFound', `The site has no file ${JSON.stringify(path)}.`)
}

export function noSuchRoute(name: string): CairnError {
  return new CairnError('NotFound', `There is no upstream ${JSON.stringify(name)}; add it to [edge.routes].`)
}

export function noSuchPack(name: string): CairnError {
  return new CairnError('NotFound', `There is no pack ${JSON.stringify(name)}; add it to [[edge.packs]].`)
}

/** The pack is configured, but its file is not one that can be served. */
export function packUnusable(name: string, cause: unknown): CairnError {
  const why = cause instanceof Error ? cause.message : String(cause)
  const detail = `The pack ${name} cannot be read: ${why}`
  return new CairnError('Integrity', detail, { code: 'bad_pack', cause })
}

/** A pack that can only be read by its path; it is opened again by the time somebody asks again. */
export function packReplaced(name: string, cause: unknown): CairnError {
  const detail = `The file of the pack ${name} was replaced; it is being opened again. Ask again in a moment.`
  return new CairnError('StorageBusy', detail, { retryAfterMs: 1000, cause })
}

/** Somebody asked for this file to be served, and it cannot be. */
export function unusablePack(path: string, cause: unknown): CairnError {
  const why = cause instanceof Error ? cause.message : String(cause)
  return new CairnError('Malformed', `${path} cannot be served: ${why}`, { code: 'unusable_pack', status: 422, cause })
}

export function packConfigured(name: string): CairnError {
  const detail = `The pack ${name} is the configuration's; change it in [[edge.packs]], or choose another name.`
  return new CairnError('Conflict', detail, { code: 'pack_configured' })
}

export function methodNotAllowed(): CairnError {
  return new CairnError('Malformed', 'This upstream is read with GET and HEAD; see pass_methods.', {
    code: 'method_not_allowed',
    status: 405,
  })
}

/** `Cache-Control: only-if-cached`, and it is not. */
export function notCached(): CairnError {
  return new CairnError('Timeout', 'This is not in the cache, and the request allows nothing else.', {
    code: 'not_cached',
  })
}
