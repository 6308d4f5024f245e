/** Signing in, and asking the services of the node as the session that is signed in. */

export interface SessionFacts {
  readonly id: string
  readonly since: number
  readonly last_used: number
  readonly expires_at: number
  readonly by: 'code' | 'token'
}

/** What a service says when it refuses: `application/problem+json`. */
export class Problem extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, detail: string) {
    super(detail)
    this.status = status
    this.code = code
  }
}

export type Service = 'node' | 'storage' | 'registry' | 'index' | 'edge' | 'interop'

export interface AskOptions {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly headers?: Readonly<Record<string, string>>
  readonly json?: unknown
  readonly body?: BodyInit
  readonly signal?: AbortSignal
}

const PROOF = 'cairn.proof'

/** Tells that the session is over, wherever that was noticed. */
export const sessionEnded = new EventTarget()

/** The second half of the session; the first is a cookie that no script reads. */
export function proofHeader(): Record<string, string> {
  const proof = sessionStorage.getItem(PROOF)
  return proof === null ? {} : { 'x-cairn-session': proof }
}

export async function signIn(credential: string): Promise<SessionFacts> {
  const response = await send('/console/session', { method: 'POST', json: { credential } })
  const { proof, ...facts } = (await response.json()) as SessionFacts & { readonly proof: string }
  sessionStorage.setItem(PROOF, proof)
  return facts
}

export async function currentSession(): Promise<SessionFacts | undefined> {
  if (sessionStorage.getItem(PROOF) === null) return undefined
  try {
    return (await (await send('/console/session', {})).json()) as SessionFacts
  } catch (error) {
    if (error instanceof Problem && error.status === 401) return undefined
    throw error
  }
}

export async function signOut(): Promise<void> {
  await send('/console/session', { method: 'DELETE' })
  sessionStorage.removeItem(PROOF)
}

/** Asks a service; throws its problem, or one of ours where nobody answers. */
export async function ask(service: Service, path: string, options: AskOptions = {}): Promise<Response> {
  try {
    return await send(`/svc/${service}/${path}`, options)
  } catch (error) {
    if (error instanceof Problem && error.code === 'no_session') sessionEnded.dispatchEvent(new Event('ended'))
    throw error
  }
}

export async function askJson<T>(service: Service, path: string, options: AskOptions = {}): Promise<T> {
  return (await (await ask(service, path, options)).json()) as T
}

async function send(url: string, { method = 'GET', headers, json, body, signal }: AskOptions): Promise<Response> {
  const response = await reached(url, {
    method,
    cache: 'no-store',
    redirect: 'error',
    headers: {
      ...proofHeader(),
      ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(json === undefined ? (body === undefined ? {} : { body }) : { body: JSON.stringify(json) }),
    ...(signal === undefined ? {} : { signal }),
  })
  if (response.ok) return response
  throw await problemOf(response)
}

async function reached(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init)
  } catch (error) {
    if (init.signal?.aborted === true) throw error
    throw new Problem(0, 'unreachable', 'The node does not answer. It may have stopped, or be starting again.')
  }
}

async function problemOf(response: Response): Promise<Problem> {
  try {
    const { code, detail } = (await response.json()) as { readonly code: string; readonly detail: string }
    return new Problem(response.status, code, detail)
  } catch {
    return new Problem(response.status, 'unknown', `The node answered ${response.status} without saying why.`)
  }
}

/** A sentence for a person. */
export function whyOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
