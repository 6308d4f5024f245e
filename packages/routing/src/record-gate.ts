/** The one entry for records of others: verified, judged by where they point, and counted. */
import { CairnError, type Clock, type Metrics, toCairnError } from '@cairn/kernel'
import type { Crypto } from '@cairn/platform'
import type { DialPolicy } from './dial-policy.ts'
import type { Provider } from './provider-routing.ts'
import { issuedAtMs, type RecordExpectations, type SignedProviderRecord, verifyRecord } from './record.ts'

export interface RecordGateOptions {
  readonly crypto: Crypto
  readonly clock: Clock
  readonly metrics: Metrics
  /** Asked for every record, so that a reload takes hold at once. */
  readonly reach: () => DialPolicy
}

export class RecordGate {
  readonly #options: RecordGateOptions

  constructor(options: RecordGateOptions) {
    this.#options = options
  }

  /** The record in these bytes; throws, and counts, what must not come in. */
  check(bytes: Uint8Array, expected: Omit<RecordExpectations, 'wallMs'> = {}): SignedProviderRecord {
    const { crypto, clock, metrics, reach } = this.#options
    try {
      const record = verifyRecord(crypto, bytes, { ...expected, wallMs: clock.wall() })
      const forbidden = record.http.find((url) => !reach().allowsUrl(url, record.publisher))
      if (forbidden !== undefined) throw forbiddenAddress(forbidden)
      metrics.count('provider_records_total', { state: 'accepted' })
      return record
    } catch (error) {
      metrics.count('provider_records_total', { state: stateOf(error) })
      throw error
    }
  }

  /** Like `check`, for a search: what must not come in is counted and left out. */
  admit(bytes: Uint8Array, expected: Omit<RecordExpectations, 'wallMs'>): Provider | undefined {
    try {
      return providerOf(this.check(bytes, expected), this.#options.clock.wall())
    } catch {
      return undefined
    }
  }
}

/** Who stands behind a verified record. */
export function providerOf(record: SignedProviderRecord, wallMs: number): Provider {
  const { publisher: id, http, region } = record
  const provider = { id, http, record, seenAtMs: issuedAtMs(record, wallMs) }
  return region === undefined ? provider : { ...provider, region }
}

/** The codes of `record.ts` are the label's values with a prefix; everything else is a defect of form. */
function stateOf(error: unknown): string {
  const { code } = toCairnError(error)
  return code.startsWith('record_') ? code.slice('record_'.length) : 'malformed'
}

function forbiddenAddress(url: string): CairnError {
  const detail = `This provider record points at ${url}, which is not on the public internet; it is not followed.`
  return new CairnError('RejectPolicy', detail, { code: 'record_forbidden_address' })
}
