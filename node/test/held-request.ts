import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ClientRequest } from 'node:http'
import { type Answer, answerTo, ask, bearer, open } from './asking.ts'
import type { Home, RunningNode, StartOptions } from './running-node.ts'

export const BODY = JSON.stringify({ aud: 'storage', scopes: ['storage:write'], ttl_s: 60 })

export interface Held {
  readonly node: RunningNode
  readonly url: string
  readonly request: ClientRequest
  readonly answer: Promise<Answer>
}

/** A node with a request it has accepted and cannot answer before the rest of its body comes. */
export async function heldRequest(home: Home, options: StartOptions = {}): Promise<Held> {
  // As long as it may be: a busy machine takes its time between a signal and the rest of the body.
  const environment = { CAIRN__NODE__DRAIN_DEADLINE: '5s', ...options.environment }
  const node = home.start({ args: ['--port-base', '0'], ...options, environment })
  const url = (await node.ready()).urls['node']![0]!
  const headers = { ...(await bearer(home.path)), 'content-type': 'application/json' }
  const { request, answer } = await holdRequest(url, '/admin/tokens', { headers, body: BODY })
  return { node, url, request, answer }
}

/** A request that was accepted: the rest of its body, from its tenth character on, is for the caller to send. */
export async function holdRequest(
  url: string,
  path: string,
  { headers = {}, body }: { readonly headers?: Record<string, string>; readonly body: string },
): Promise<Pick<Held, 'request' | 'answer'>> {
  const all = { ...headers, 'content-length': String(Buffer.byteLength(body)), expect: '100-continue' }
  const request = open(url, path, { method: 'POST', headers: all })
  const answer = answerTo(request)
  request.flushHeaders()
  // Said only to a request that has passed every gate.
  await once(request, 'continue')
  request.write(body.slice(0, 10))
  return { request, answer }
}

/** Resolves when the node has begun to stop: it says so to whoever asks, and still answers. */
export async function isDraining(url: string): Promise<void> {
  for (;;) {
    const { status, body } = await ask(url, '/readyz')
    if (status === 503) {
      assert.equal((JSON.parse(body) as { code: string }).code, 'draining')
      return
    }
  }
}
