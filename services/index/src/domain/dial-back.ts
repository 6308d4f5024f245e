/**
 * Asks whoever announces for one of the objects it claims, at the address it claims: an announcement that sends clients
 * to somebody else, or to nobody, is not taken.
 */
import { CairnError, type Deadline, type Runtime, toCairnError } from '@cairn/kernel'
import { joinUrl, type Transport } from '@cairn/platform'
import type { SignedProviderRecord } from '@cairn/routing'
import type { Latencies } from './latencies.ts'

/** Until somebody who announces has shown that they can be reached. */
const DIAL_BACK_MS = 2000

/** Throws unless the publisher serves the object at one of the record's addresses. `egress` refuses forbidden ones. */
export async function dialBack(
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
