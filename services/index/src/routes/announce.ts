/** Records of others, taken in: verified, dialled back, kept, and told to the network at a steady rate. */

import { json, type RouteTable, route } from '@cairn/http'
import { CairnError, type Deadline, type Runtime, toCairnError } from '@cairn/kernel'
import type { SignedProviderRecord } from '@cairn/routing'
import { joinUrl, type Transport } from '@cairn/transport'
import { fromBase64url } from '@cairn/wire'
import { z } from 'zod'
import { questionKey } from '../domain/lookup.ts'
import type { Latencies } from '../domain/rank.ts'
import type { IndexParts } from '../parts.ts'
import type { IndexRequestContext } from './params.ts'

/*
 * Asks whoever announces for one of the objects it claims, at the address it claims: an announcement that sends clients
 * to somebody else, or to nobody, is not taken.
 */

/** Until somebody who announces has shown that they can be reached. */
const DIAL_BACK_MS = 2000

/** Throws unless the publisher serves the object at one of the record's addresses. `egress` refuses forbidden ones. */
async function dialBack(
  { clock }: Runtime,
  egress: Transport,
  latencies: Latencies,
  { cid, publisher, http }: SignedProviderRecord,
  bounds: { readonly deadline: Deadline; readonly signal?: AbortSignal | undefined },
): Promise<void> {
  const deadline = bounds.deadline.child(DIAL_BACK_MS)
  let why = 'it names no address'
  for (const base of http) {
    const startedAt = clock.now()
    try {
      const url = joinUrl(new URL(base), `o/${cid}`)
      const response = await egress.request({ method: 'HEAD', url, headers: {}, deadline, signal: bounds.signal })
      response.body.cancel()
      if (response.status === 200) {
        latencies.note(publisher, clock.now() - startedAt)
        return
      }
      why = `${base} answers ${response.status}`
    } catch (error) {
      if (bounds.signal?.aborted === true) throw error
      why = `${base}: ${toCairnError(error).message}`
    }
  }
  const detail = `The publisher of this record does not serve the object where it says it does (${why}).`
  throw new CairnError('RejectPolicy', detail, { code: 'unreachable' })
}

const RECORDS_MAX = 256

const refusedRow = z.strictObject({ index: z.int(), code: z.string(), detail: z.string() })
type RefusedRecord = z.output<typeof refusedRow>

export function announceRoute(parts: IndexParts): RouteTable[number] {
  return route({
    method: 'POST',
    path: '/announce',
    lane: 'inline',
    scope: 'index:announce',
    summary:
      'Signed provider records (base64url). Each publisher is asked for one of its objects before its records count.',
    body: z.strictObject({ records: z.array(z.string()).min(1).max(RECORDS_MAX) }),
    responses: {
      200: {
        description: 'How many were taken, and why the others were not.',
        schema: z.strictObject({ accepted: z.int(), refused: z.array(refusedRow) }),
      },
    },
    handler: async (context) => {
      const answer = await takeIn(parts, context, context.body.records)
      parts.audit.note(context, 'announce', `${answer.accepted} of ${context.body.records.length}`, answer.accepted > 0)
      return json(200, answer)
    },
  })
}

interface CheckedRecord {
  readonly index: number
  readonly record: SignedProviderRecord
}

async function takeIn(parts: IndexParts, context: IndexRequestContext, texts: readonly string[]) {
  const { gate, records, announcer, cache, runtime } = parts
  const refused: RefusedRecord[] = []
  const refuse = (index: number, error: unknown, result: 'refused' | 'unreachable'): void => {
    const { code, message } = toCairnError(error)
    refused.push({ index, code, detail: message })
    runtime.metrics.count('announce_records_total', { result })
  }
  const byPublisher = new Map<string, CheckedRecord[]>()
  for (const [index, text] of texts.entries()) {
    try {
      const record = gate.check(fromBase64url(text))
      byPublisher.set(record.publisher, [...(byPublisher.get(record.publisher) ?? []), { index, record }])
    } catch (error) {
      refuse(index, error, 'refused')
    }
  }
  let accepted = 0
  for (const checked of byPublisher.values()) {
    try {
      await reach(parts, context, checked)
    } catch (error) {
      for (const { index } of checked) refuse(index, error, 'unreachable')
      continue
    }
    for (const { index, record } of checked) {
      const outcome = records.put(record)
      if (outcome !== 'accepted') {
        refuse(index, new CairnError('Conflict', OUTCOMES[outcome], { code: outcome }), 'refused')
        continue
      }
      accepted += 1
      runtime.metrics.count('announce_records_total', { result: 'accepted' })
      cache.forget(questionKey({ tag: 'providers', cid: record.cid }))
      announcer.add(record.cid)
    }
  }
  return { accepted, refused: refused.sort((one, other) => one.index - other.index) }
}

const OUTCOMES = {
  stale: 'A newer record of this publisher about this object is here.',
  key_full: 'As many publishers as are kept for one object are known for this one.',
  peer_full: 'This publisher has announced as many objects as one may.',
  store_full: 'As many records as are kept are here; try again when some have expired.',
} as const

/** One of a publisher's records, picked at random so that it cannot prepare for it. */
async function reach(
  { runtime, egress, latencies }: IndexParts,
  context: IndexRequestContext,
  checked: readonly CheckedRecord[],
): Promise<void> {
  const pick = checked[Math.floor(runtime.random.next() * checked.length)]
  if (pick === undefined) return
  const { deadline, signal } = context
  await dialBack(runtime, egress, latencies, pick.record, { deadline, signal })
}
