/**
 * What every client does around every call.
 *
 *     scope granted? ─▶ retry (idempotent only) ─▶ breaker of the target ─▶ transport ─▶ answer, or the other side's error
 *                          │                          │                       │
 *                          └ within the deadline      └ 5xx and silence count └ corr id, what is left of the deadline, token
 */
import {
  type Breakers,
  CairnError,
  type Deadline,
  RETRY,
  type RetryPolicy,
  type Runtime,
  retry,
  toCairnError,
} from '@cairn/kernel'
import { type IncomingResponse, joinUrl, type Transport } from '@cairn/transport'
import { attenuateToken, type Caveat, createUlid, problemError, type Scope } from '@cairn/wire'
import { badAnswer, readText } from './response-body.ts'

/** What a client may do in its owner's name: the scopes it was given, and the token that proves them. */
export interface ScopeGrant {
  readonly scopes: readonly Scope[]
  /** The bearer to present. Asked for each call, so that a rotated token is used at once. */
  bearer(): Promise<string>
}

/** For clients that only use open routes. */
export const NO_SCOPES: ScopeGrant = {
  scopes: [],
  bearer: () => Promise.reject(new CairnError('Internal', 'A client without scopes was asked for a token.')),
}

/** Throws `Forbidden`, before anything is sent, if the client was not given the scope. */
function requireScope(grant: ScopeGrant, scope: Scope, target: string): void {
  if (grant.scopes.includes(scope)) return
  throw new CairnError('Forbidden', `This client of ${target} was not given ${scope}.`, { code: 'scope_not_granted' })
}

/** A problem is a few hundred bytes; more is not read. */
const PROBLEM_BYTES_MAX = 64 * 1024

/** Reads the refusal of another service, and returns it as the error it was over there. */
async function readProblem(response: IncomingResponse, target: string): Promise<CairnError> {
  const { status, headers } = response
  const text = await readText(response, PROBLEM_BYTES_MAX)
  return problemError(
    { status, contentType: headers['content-type'], retryAfter: headers['retry-after'], text },
    target,
  )
}

/** What the caller of a client hands on: its budget, its correlation id, its cancellation. */
export interface CallContext {
  readonly deadline: Deadline
  /** Made up where a call starts something new. */
  readonly corrId?: string
  readonly signal?: AbortSignal | undefined
  /** What this call is narrowed to: the token presented carries these as well. */
  readonly caveats?: readonly Caveat[]
}

export interface CallerOptions {
  readonly runtime: Runtime
  readonly transport: Transport
  /** Where the target's routes begin. */
  readonly base: URL
  /** The configured name of the target: a label and the key of its breaker. */
  readonly target: string
  readonly breakers: Breakers
  readonly grant: ScopeGrant
}

export interface Call<T> {
  /** A label: the name of the client's method. */
  readonly operation: string
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE'
  /** Below the base, without a leading slash; the caller escapes variable parts. */
  readonly path: string
  /** Sending it twice is the same as once, so it may be tried again. */
  readonly idempotent: boolean
  readonly scope?: Scope
  readonly headers?: Readonly<Record<string, string>>
  /** Bytes, so that a second try sends the same. */
  readonly body?: Uint8Array
  /** Statuses from 400 on that `read` understands as answers. */
  readonly answers?: readonly number[]
  /** Reads the answer to its end. */
  readonly read: (response: IncomingResponse) => Promise<T>
}

type HeaderRecord = Readonly<Record<string, string>>

export class Caller {
  readonly #options: CallerOptions
  readonly #policy: RetryPolicy

  constructor(options: CallerOptions, policy: RetryPolicy = RETRY.rpc) {
    this.#options = options
    this.#policy = policy
  }

  /** Makes the call; throws the other side's error, or why it could not be asked. */
  async call<T>(call: Call<T>, context: CallContext): Promise<T> {
    const { runtime, grant, target } = this.#options
    if (call.scope !== undefined) requireScope(grant, call.scope, target)
    const corrId = context.corrId ?? createUlid(Math.floor(runtime.clock.wall()), runtime.random.bytes(10))
    const attempt = async (): Promise<T> => {
      // Outside the breaker: a token we do not have is not the target's fault.
      const token = call.scope === undefined ? {} : { authorization: `Bearer ${await bearer(grant, context)}` }
      return await this.#throughBreaker(call, context, { ...call.headers, ...token, 'x-corr-id': corrId })
    }
    if (!call.idempotent) return await attempt()
    const { deadline, signal } = context
    const operation = `${target}.${call.operation}`
    return await retry(runtime, attempt, {
      policy: this.#policy,
      operation,
      deadline,
      ...(signal === undefined ? {} : { signal }),
    })
  }

  /** An answer that says no is still an answer: only silence and the target's own failures count against it. */
  async #throughBreaker<T>(call: Call<T>, context: CallContext, headers: HeaderRecord): Promise<T> {
    const { breakers, target } = this.#options
    using passage = breakers.admit(target)
    try {
      const value = await this.#once(call, context, headers)
      passage.report('ok')
      return value
    } catch (error) {
      const isAnswer = toCairnError(error).status < 500
      // Not waited for to the end, it has said nothing: neither that it is well nor that it is not.
      passage.report(context.signal?.aborted === true ? 'abandoned' : isAnswer ? 'ok' : 'failed')
      throw error
    }
  }

  async #once<T>(call: Call<T>, { deadline, signal }: CallContext, headers: HeaderRecord): Promise<T> {
    const { transport, base, target } = this.#options
    deadline.throwIfExpired(call.operation)
    const response = await transport.request({
      method: call.method,
      url: joinUrl(base, call.path),
      headers: { ...headers, 'request-timeout': deadline.toHeader() },
      ...(call.body === undefined ? {} : { body: call.body }),
      deadline,
      signal,
    })
    const isAnswer = response.status < 400 || call.answers?.includes(response.status) === true
    if (!isAnswer) throw await readProblem(response, target)
    // Following it would send the request to a host the caller never named.
    if (response.status >= 300 && response.status < 400 && response.status !== 304) {
      response.body.cancel()
      throw badAnswer(`sends elsewhere (${response.status}), which is not followed`)
    }
    return await call.read(response)
  }
}

async function bearer(grant: ScopeGrant, { caveats = [] }: CallContext): Promise<string> {
  const token = await grant.bearer()
  return caveats.length === 0 ? token : attenuateToken(token, caveats)
}
