/** The services of a node beside storage, each asked through the client that services use among themselves. */
import { type CallContext, Caller } from '@cairn/clients'
import { Breakers, CairnError, Deadline, type Runtime } from '@cairn/kernel'
import { isScope, SCOPES } from '@cairn/wire'
import { FetchTransport } from './fetch-transport.ts'
import type { Fetch } from './send.ts'

export const SERVICES = ['storage', 'index', 'registry', 'edge', 'interop'] as const
export type ServiceName = (typeof SERVICES)[number]

export interface ServicesOptions {
  readonly runtime: Runtime
  readonly urls: Readonly<Partial<Record<ServiceName, URL>>>
  readonly token: string | undefined
  readonly timeoutMs: number
  readonly fetch: Fetch
}

/** As good as for ever; a stream ends by its signal. */
const FOLLOW_MS = 365 * 24 * 60 * 60 * 1000

export class Services {
  readonly #options: ServicesOptions
  #breakers: Breakers | undefined
  readonly #callers = new Map<ServiceName, Caller>()

  constructor(options: ServicesOptions) {
    this.#options = options
  }

  get runtime(): Runtime {
    return this.#options.runtime
  }

  /** Throws `Malformed` if nobody said where the service is. */
  caller(service: ServiceName): Caller {
    const known = this.#callers.get(service)
    if (known !== undefined) return known
    const { runtime, urls, token, fetch } = this.#options
    const base = urls[service]
    if (base === undefined)
      throw new CairnError('Malformed', `Say where the ${service} is: new Cairn({ ${service}Url: … }).`)
    this.#breakers ??= new Breakers(runtime)
    const caller = new Caller({
      runtime,
      transport: new FetchTransport(fetch),
      base,
      target: service,
      breakers: this.#breakers,
      // What the token allows, the service knows; here nothing is forbidden.
      grant: { scopes: Object.keys(SCOPES).filter(isScope), bearer: async () => await bearerOf(token, service) },
    })
    this.#callers.set(service, caller)
    return caller
  }

  /** For a small question. */
  call(signal: AbortSignal | undefined): CallContext {
    const { runtime, timeoutMs } = this.#options
    return { deadline: Deadline.after(runtime.clock, timeoutMs), signal }
  }

  /** For a stream that goes on until its signal. */
  following(signal: AbortSignal | undefined): CallContext {
    return { deadline: Deadline.after(this.#options.runtime.clock, FOLLOW_MS), signal }
  }
}

async function bearerOf(token: string | undefined, service: ServiceName): Promise<string> {
  if (token !== undefined) return await Promise.resolve(token)
  throw new CairnError('Unauthorized', `The ${service} wants a token for this: new Cairn({ token: … }).`, {
    code: 'no_token',
  })
}
