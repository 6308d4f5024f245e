/** The log for everybody, as C2SP tlog-tiles: a checkpoint that changes, files that never do, and what an operator asks of it. */

import { registryAnswers, textOf } from '@cairn/api'
import { json, type RequestContext, type RouteTable, route } from '@cairn/http'
import { CairnError, isKind, TokenBucket } from '@cairn/kernel'
import { type AuditHeadLeaf, decodeLeaf, parseAuditChain, parseAuditHead } from '@cairn/names'
import {
  MAX_NOTE_BYTES,
  type NoteSignature,
  parseNote,
  parseSignatureLines,
  parseTilePath,
  parseVerifierKey,
  TILE_WIDTH,
  type Tile,
  verifyNote,
} from '@cairn/tlog'
import type { IngressResponse } from '@cairn/transport'
import { z } from 'zod'
import type { AppendedAnswer, CheckpointedAnswer, Command } from '../domain/commands.ts'
import { overQuota } from '../errors.ts'
import type { RegistryParts } from '../parts.ts'
import { askCommitter, bodyOf, driveErrors, IMMUTABLE, NO_STORE, writeErrors } from './params.ts'

/** What an operator asks: whether the log is sound, and to look again. */
export function adminRoutes(parts: RegistryParts): RouteTable {
  const { verifier } = parts
  return [
    adopt(parts),
    route({
      method: 'GET',
      path: '/admin/verify',
      lane: 'inline',
      scope: 'registry:admin',
      summary: 'How far the deep verifier has come, and the first entry it found wrong.',
      responses: { 200: { description: 'The report.', schema: registryAnswers.verifyReport } },
      handler: () => json(200, verifier.report()),
    }),
    route({
      method: 'POST',
      path: '/admin/verify',
      lane: 'inline',
      scope: 'registry:admin',
      summary: 'Begins to read the whole log again.',
      responses: { 202: { description: 'Under way.', schema: registryAnswers.verifyReport } },
      handler: () => {
        verifier.begin()
        return json(202, verifier.report())
      },
    }),
  ]
}

function adopt({ custody }: RegistryParts): RouteTable[number] {
  return route({
    method: 'POST',
    path: '/admin/adopt',
    lane: 'inline',
    scope: 'registry:admin',
    summary:
      'Lets a registry that was restored from a backup or put back from a copy write again, after a restart: the body is the newest checkpoint anybody has seen, and shows that nothing is missing here. `?moved=true` says that nothing was signed since, where no such checkpoint is to be had.',
    query: z.strictObject({ moved: z.literal('true').optional() }),
    body: 'bytes',
    responses: { 200: { description: 'Adopted.', schema: z.strictObject({ size: z.int() }) } },
    errors: { Malformed: 400, Behind: 409, Forked: 409, NotRestored: 409, OwnCheckpoint: 409, InvalidSig: 422 },
    handler: async ({ body, query: { moved } }) =>
      json(200, { size: await custody.adopt(body, { isMoved: moved !== undefined }) }),
  })
}

/** A reader that is this late sees no harm; one that asks each time costs a request. */
const CHECKPOINT_CACHING = 'public, max-age=2'
const OCTETS = 'application/octet-stream'
const LENGTH_BYTES = 2
/** Entries read from the drive together. */
const READ_AHEAD = 16
const SECONDS_PER_MINUTE = 60
/** Anchors that are looked at for the newest of one chain: a week of a busy one, and others between. */
const AUDIT_HEADS_MAX = 16_384
/** Tokens whose quota is remembered; the one not used for longest is forgotten. */
const TOKENS_MAX = 1024

export function logRoutes(parts: RegistryParts): RouteTable {
  return [
    checkpoint(parts),
    seenCheckpoint(parts),
    tiles(parts),
    cosignatures(parts),
    auditHeads(parts),
    newestAuditHead(parts),
  ]
}

function checkpoint({ published }: RegistryParts): RouteTable[number] {
  return route({
    method: 'GET',
    path: '/log/checkpoint',
    lane: 'inline',
    summary: 'The signed tree head: a C2SP note with the signature of the log and the time of its cosigner.',
    responses: { 200: { description: 'The note.', mediaType: 'text/plain; charset=utf-8' } },
    handler: () => {
      const headers = ['Content-Type', 'text/plain; charset=utf-8', 'Cache-Control', CHECKPOINT_CACHING]
      return { status: 200, headers, body: published.value.note }
    },
  })
}

function seenCheckpoint({ custody, published }: RegistryParts): RouteTable[number] {
  return route({
    method: 'POST',
    path: '/log/checkpoint/seen',
    lane: 'inline',
    summary:
      'Shows the log a checkpoint that it has signed, for anybody who remembers one. If it is not of what is here, the log was put back from an older copy: it is only read from then on.',
    body: 'bytes',
    limits: { bodyBytes: MAX_NOTE_BYTES },
    responses: {
      200: {
        description: 'Its size, that of the log, and whether all of it is here.',
        schema: z.strictObject({ size: z.int(), log_size: z.int(), known: z.boolean() }),
      },
    },
    errors: { Malformed: 400, InvalidSig: 422 },
    handler: async ({ body }) => {
      const { size, isKnown } = await custody.show(body)
      return json(200, { size, log_size: published.value.size, known: isKnown }, NO_STORE)
    },
  })
}

function tiles(parts: RegistryParts): RouteTable[number] {
  return route({
    method: 'GET',
    path: '/log/tile/*',
    lane: 'inline',
    summary:
      'Hashes (`<level>/<index>[.p/<width>]`) and entries (`entries/<index>[.p/<width>]`) of the log, as C2SP tlog-tiles names them. Partial ones of every width up to the published size.',
    params: z.strictObject({ '*': z.string() }),
    limits: { stream: true },
    responses: { 200: { description: 'The tile, for ever the same.', mediaType: OCTETS } },
    errors: { NotFound: 404, Pruned: 410, ...driveErrors },
    handler: ({ params }) => {
      const tile = tileOf(params['*'])
      if (!isPublished(tile, parts.published.value.size)) throw noSuchTile()
      if (tile.level === 'entries') return entries(parts, tile)
      const body = parts.log.tile(tile)
      return { status: 200, headers: ['Content-Type', OCTETS, 'Cache-Control', IMMUTABLE], body }
    },
  })
}

function tileOf(path: string): Tile {
  try {
    return parseTilePath(`tile/${path}`)
  } catch (error) {
    if (isKind(error, 'Malformed')) throw noSuchTile()
    throw error
  }
}

function isPublished({ level, index, width }: Tile, size: number): boolean {
  const row = level === 'entries' ? 0 : level
  return index * TILE_WIDTH + width <= Math.floor(size / TILE_WIDTH ** row)
}

function noSuchTile(): CairnError {
  return new CairnError('NotFound', 'The published log has no such tile; see /log/checkpoint for its size.')
}

/** A bundle of entries, read while it is sent: up to 16 MiB never lie in memory at once. */
function entries({ archive }: RegistryParts, { index, width }: Tile): IngressResponse {
  const first = index * TILE_WIDTH
  const length = archive.bundleBytes(first, first + width) + LENGTH_BYTES * width
  async function* bundle(): AsyncGenerator<Uint8Array> {
    for (let at = first; at < first + width; at += READ_AHEAD) {
      const indexes = Array.from({ length: Math.min(READ_AHEAD, first + width - at) }, (_, next) => at + next)
      const read = await Promise.all(indexes.map(async (each) => await archive.entry(each)))
      yield Buffer.concat(read.flatMap((entry) => [lengthOf(entry), entry]))
    }
  }
  const headers = ['Content-Type', OCTETS, 'Cache-Control', IMMUTABLE, 'Content-Length', String(length)]
  return { status: 200, headers, body: bundle() }
}

function lengthOf(entry: Uint8Array): Uint8Array {
  return Uint8Array.of(entry.length >> 8, entry.length & 0xff)
}

function cosignatures(parts: RegistryParts): RouteTable[number] {
  return route({
    method: 'POST',
    path: '/log/cosignatures',
    lane: 'inline',
    scope: 'registry:anchor',
    summary:
      'Puts the signature lines of witnesses under the published checkpoint: as a witness sends them, each by a key of `witness_keys`, made of this very checkpoint.',
    body: 'bytes',
    responses: {
      202: { description: 'Published with the checkpoint, durably.', schema: z.strictObject({ size: z.int() }) },
    },
    errors: { Malformed: 400, CheckpointMoved: 409, InvalidSig: 422, ...writeErrors },
    handler: async (context) => {
      const command = cosign(parts, new TextDecoder().decode(context.body))
      const { size } = (await askCommitter(parts, context, command)) as CheckpointedAnswer
      return json(202, { size }, NO_STORE)
    },
  })
}

/** Every line is by a witness that is known here, and of the checkpoint that is published now. */
function cosign({ published, config, crypto }: RegistryParts, text: string): Command {
  const keys = config().witness_keys.map(parseVerifierKey)
  const lines = parseSignatureLines(text)
  const { note, size } = published.value
  const isKnown = (line: NoteSignature): boolean =>
    keys.some(({ name, keyId }) => name === line.name && keyId === line.keyId)
  try {
    if (!lines.every(isKnown)) throw new CairnError('Integrity', 'A line is by no key of witness_keys.')
    verifyNote({ text: parseNote(note).text, signatures: lines }, keys, crypto)
  } catch (cause) {
    if (!isKind(cause, 'Integrity')) throw cause
    const detail = `These lines do not cosign the checkpoint of ${size} entries: ${cause.message}`
    throw new CairnError('Malformed', detail, { code: 'InvalidSig', status: 422, cause })
  }
  return { tag: 'cosign', size, lines }
}

function auditHeads(parts: RegistryParts): RouteTable[number] {
  const quota = new AuditQuota(parts)
  return route({
    method: 'POST',
    path: '/log/audit-heads',
    lane: 'inline',
    scope: 'registry:anchor',
    summary: 'Anchors the head of an audit chain that is kept elsewhere: `{head, count}`. Never moves HEAD.',
    body: 'bytes',
    responses: { 202: { description: 'In the log, durably.', schema: z.strictObject({ log_index: z.int() }) } },
    errors: { Malformed: 400, LengthRequired: 411, QuotaExceeded: 429, ...writeErrors },
    handler: async (context) => {
      const command: Command = { tag: 'audit-head', audit: parseAuditHead(bodyOf(context)) }
      quota.take(context, command)
      const { log_index: index } = (await askCommitter(parts, context, command)) as AppendedAnswer
      return json(202, { log_index: index }, NO_STORE)
    },
  })
}

function newestAuditHead({ log, archive, published }: RegistryParts): RouteTable[number] {
  return route({
    method: 'GET',
    path: '/log/audit-heads/:chain',
    lane: 'inline',
    summary:
      'The newest head that was anchored of an audit chain, by the id its owner gave it; not one that was pruned.',
    params: z.strictObject({ chain: textOf(/^[0-9a-f]{32}$/, parseAuditChain) }),
    responses: {
      200: {
        description: 'The head, and where in the log it is.',
        schema: z.strictObject({ head: z.string(), count: z.int(), log_index: z.int() }),
      },
    },
    errors: { NotFound: 404, ...driveErrors },
    handler: async ({ params: { chain } }) => {
      let looked = 0
      for (const index of log.auditHeads(published.value.size)) {
        const { audit } = decodeLeaf(await archive.entry(index)) as AuditHeadLeaf
        if (audit.chain === chain)
          return json(200, { head: audit.head, count: audit.count, log_index: index }, NO_STORE)
        looked += 1
        if (looked === AUDIT_HEADS_MAX) break
      }
      throw new CairnError('NotFound', `No head of the audit chain ${chain} is in the log.`)
    },
  })
}

/** How much each token may append: the log grows by what holders of a token want, and only so fast. */
class AuditQuota {
  readonly #parts: RegistryParts
  readonly #buckets = new Map<string, { readonly perMinute: number; readonly bucket: TokenBucket }>()

  constructor(parts: RegistryParts) {
    this.#parts = parts
  }

  take({ token }: RequestContext<unknown, unknown, unknown>, command: Command): void {
    const perMinute = this.#parts.config().limits.audit_heads_per_minute
    const bucket = this.#bucketOf(token?.tid ?? '', perMinute)
    if (bucket.tryTake(SECONDS_PER_MINUTE)) return
    const error = overQuota(perMinute, bucket.waitMs(SECONDS_PER_MINUTE))
    this.#parts.audit.note(command, { tag: 'refused', error })
    throw error
  }

  #bucketOf(tid: string, perMinute: number): TokenBucket {
    const known = this.#buckets.get(tid)
    this.#buckets.delete(tid)
    const { clock } = this.#parts.runtime
    // A bucket fills by whole numbers a second: what is wanted in a minute, at sixty for each.
    const shape = { rate: perMinute, burst: SECONDS_PER_MINUTE * perMinute }
    const bucket = known?.perMinute === perMinute ? known.bucket : new TokenBucket(clock, shape)
    this.#buckets.set(tid, { perMinute, bucket })
    const [oldest] = this.#buckets.keys()
    if (this.#buckets.size > TOKENS_MAX && oldest !== undefined) this.#buckets.delete(oldest)
    return bucket
  }
}
