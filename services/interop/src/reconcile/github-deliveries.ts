/** The two routes of GitHub's API that tell which deliveries failed and send one again. */
import { CairnError, type Deadline, type Runtime } from '@cairn/kernel'
import { type IncomingResponse, joinUrl, type Transport } from '@cairn/transport'
import { jsonObject } from '../providers/provider.ts'
import type { DeliveryAttempt } from './missed-core.ts'

export interface DeliveryPage {
  readonly attempts: readonly DeliveryAttempt[]
  /** Where older attempts begin; undefined after the last. */
  readonly next: string | undefined
}

export interface GithubDeliveriesOptions {
  readonly runtime: Runtime
  /** For targets of the configuration: it carries the token. */
  readonly transport: Transport
  readonly api: URL
  /** `repos/OWNER/NAME/hooks/ID` or `orgs/NAME/hooks/ID`. */
  readonly hook: string
  readonly token: string
}

export interface DeliveryCallOptions {
  readonly deadline: Deadline
  readonly signal?: AbortSignal | undefined
}

const PAGE = 100
const PAGE_BYTES_MAX = 1024 * 1024
/** Left of the hourly budget for whoever else uses the token. */
const REMAINING_MIN = 50

export class GithubDeliveries {
  readonly #options: GithubDeliveriesOptions

  constructor(options: GithubDeliveriesOptions) {
    this.#options = options
  }

  /** A page of attempts, the newest first. */
  async list(cursor: string | undefined, options: DeliveryCallOptions): Promise<DeliveryPage> {
    const query = `?per_page=${PAGE}${cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`}`
    const response = await this.#ask('GET', `deliveries${query}`, options)
    const next = nextCursor(response.headers['link'])
    const attempts = readAttempts(await readText(response))
    this.#spareBudget(response)
    return { attempts, next }
  }

  /** Asks for another attempt of this one. */
  async redeliver(id: string, options: DeliveryCallOptions): Promise<void> {
    const response = await this.#ask('POST', `deliveries/${encodeURIComponent(id)}/attempts`, options)
    response.body.cancel()
    this.#spareBudget(response)
  }

  async #ask(
    method: 'GET' | 'POST',
    path: string,
    { deadline, signal }: DeliveryCallOptions,
  ): Promise<IncomingResponse> {
    const { transport, api, hook, token } = this.#options
    const headers = {
      accept: 'application/vnd.github+json',
      authorization: `Bearer ${token}`,
      'user-agent': 'cairn-interop',
      'x-github-api-version': '2022-11-28',
    }
    const response = await transport.request({
      method,
      url: joinUrl(api, `${hook}/${path}`),
      headers,
      deadline,
      signal,
    })
    if (response.status >= 200 && response.status < 300) return response
    response.body.cancel()
    throw this.#refusal(response)
  }

  /** `Paced` with when to come back if GitHub wants us to slow down; else what is wrong. */
  #refusal({ status, headers }: IncomingResponse): CairnError {
    const isLimit =
      status === 429 || (status === 403 && (headers['retry-after'] ?? headers['x-ratelimit-reset']) !== undefined)
    if (isLimit) return paced(this.#waitMs(headers))
    if (status >= 500) return new CairnError('Timeout', `GitHub answered ${status}.`, { code: 'upstream_failed' })
    const detail = `GitHub answered ${status}; look at the hook and at what the token of the reconciler may do.`
    return new CairnError('Conflict', detail, { code: 'upstream_refused' })
  }

  #spareBudget({ headers }: IncomingResponse): void {
    const remaining = wholeNumber(headers['x-ratelimit-remaining'])
    if (remaining !== undefined && remaining < REMAINING_MIN) throw paced(this.#waitMs(headers))
  }

  #waitMs(headers: IncomingResponse['headers']): number {
    const seconds = wholeNumber(headers['retry-after'])
    if (seconds !== undefined) return 1000 * seconds
    const reset = wholeNumber(headers['x-ratelimit-reset'])
    const untilMs = reset === undefined ? 0 : 1000 * reset - this.#options.runtime.clock.wall()
    return Math.min(3_600_000, Math.max(60_000, untilMs))
  }
}

function paced(retryAfterMs: number): CairnError {
  return new CairnError('Paced', 'The budget of requests to GitHub is used up for now.', { retryAfterMs })
}

function wholeNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,12}$/.test(text) ? Number(text) : undefined
}

/** The cursor of `rel="next"`. Only the cursor is taken: where to ask is for the configuration to say. */
export function nextCursor(link: string | undefined): string | undefined {
  for (const part of (link ?? '').split(',')) {
    const [, target, parameters] = /^\s*<([^<>]*)>\s*;(.*)$/.exec(part) ?? []
    if (target === undefined || !/(?:^|;)\s*rel="?next"?\s*(?:;|$)/.test(parameters ?? '')) continue
    const cursor = URL.parse(target, 'https://api.github.com')?.searchParams.get('cursor')
    if (cursor !== null && cursor !== undefined && cursor !== '') return cursor
  }
  return undefined
}

/** The attempts of a page. The ids have more digits than a number can hold, so they are quoted before they are read. */
export function readAttempts(text: string): DeliveryAttempt[] {
  const rows = jsonObject(`{"rows":${text.replaceAll(/"id"\s*:\s*(\d+)/g, '"id":"$1"')}}`)?.['rows']
  if (!Array.isArray(rows))
    throw new CairnError('Integrity', 'GitHub answered with something that is no list of deliveries.')
  return rows.flatMap((row: unknown) => readAttempt(row) ?? [])
}

function readAttempt(row: unknown): DeliveryAttempt | undefined {
  if (typeof row !== 'object' || row === null) return undefined
  const { id, guid, delivered_at, status_code }: Record<string, unknown> = { ...row }
  const at = typeof delivered_at === 'string' ? Date.parse(delivered_at) : Number.NaN
  if (typeof id !== 'string' || typeof guid !== 'string' || Number.isNaN(at)) return undefined
  return { id, guid, at, succeeded: typeof status_code === 'number' && status_code >= 200 && status_code < 300 }
}

async function readText(response: IncomingResponse): Promise<string> {
  const parts: Uint8Array[] = []
  let length = 0
  for await (const part of response.body) {
    length += part.length
    if (length > PAGE_BYTES_MAX) throw new CairnError('TooLarge', 'A page of deliveries is larger than it can be.')
    parts.push(part)
  }
  return new TextDecoder().decode(Buffer.concat(parts))
}
