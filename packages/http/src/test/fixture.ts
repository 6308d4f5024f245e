/** An ingress in a virtual runtime, and requests made of plain data. */
import { Health, KERNEL_METRICS, Shutdown } from '@cairn/kernel'
import { type VirtualRuntime, virtualRuntime } from '@cairn/kernel/testing'
import { inlineInflate } from '@cairn/platform/testing'
import { type IngressResponse, isStream } from '@cairn/transport'
import type { z } from 'zod'
import { NO_CAPABILITIES } from '../pipeline/authorizer.ts'
import { type IngressConfig, ingressSection } from '../pipeline/config.ts'
import { Ingress, type IngressOptions } from '../pipeline/ingress.ts'
import { INGRESS_METRICS } from '../pipeline/metrics.ts'
import { defineRoutes, type Route, route } from '../pipeline/route.ts'
import { type IngressRequest, json } from '../response/message.ts'

export type ConfigInput = z.input<ReturnType<typeof ingressSection>>

export const METRICS = { ...KERNEL_METRICS, ...INGRESS_METRICS }

export function ingressConfig(input: ConfigInput = {}): IngressConfig {
  return ingressSection().parse(input)
}

export interface Fixture {
  readonly runtime: VirtualRuntime
  readonly shutdown: Shutdown
  readonly health: Health
  readonly ingress: Ingress
  call(request?: Partial<IngressRequest>): Promise<Answer>
}

export interface Answer {
  readonly status: number
  /** Lower-case names; a repeated field as an array would be a defect, so the last one is kept. */
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  json(): Record<string, unknown>
}

interface FixtureOptions extends Partial<Omit<IngressOptions, 'config' | 'runtime' | 'routes' | 'shutdown'>> {
  readonly routes?: readonly Route[]
  readonly config?: ConfigInput
  readonly conditions?: readonly string[]
}

export function fixture({ routes = [HELLO], config = {}, conditions = [], ...rest }: FixtureOptions = {}): Fixture {
  const runtime = virtualRuntime(1, METRICS)
  const shutdown = new Shutdown()
  const health = new Health(conditions)
  const ingress = new Ingress({
    runtime,
    shutdown,
    routes: defineRoutes(routes),
    config: ingressConfig(config),
    authorizer: NO_CAPABILITIES,
    ops: { health, version: { service: 'test' }, metricsText: () => 'up 1\n' },
    inflate: inlineInflate,
    ...rest,
  })
  const call = async (request: Partial<IngressRequest> = {}): Promise<Answer> =>
    await answerOf(await ingress.handle(requestOf(request)))
  return { runtime, shutdown, health, ingress, call }
}

export const HELLO: Route = route({
  method: 'GET',
  path: '/hello',
  lane: 'inline',
  summary: 'Says hello.',
  responses: { 200: { description: 'Hello.' } },
  handler: () => json(200, { hello: 'world' }),
})

export function requestOf(request: Partial<IngressRequest> = {}): IngressRequest {
  return {
    method: 'GET',
    target: '/hello',
    headers: ['Host', 'localhost'],
    body: undefined,
    peer: { address: '127.0.0.1', kind: 'tcp' },
    listenerKind: 'service',
    crowded: false,
    signal: new AbortController().signal,
    ...request,
  }
}

/** A request with a body sent in these parts. */
export function bodyOf(...parts: readonly (string | Uint8Array)[]): AsyncIterable<Uint8Array> {
  return (async function* () {
    for (const part of parts) yield typeof part === 'string' ? Buffer.from(part) : part
  })()
}

async function answerOf({ status, headers, body }: IngressResponse): Promise<Answer> {
  const fields: Record<string, string> = {}
  for (let at = 0; at < headers.length; at += 2) fields[headers[at]!.toLowerCase()] = headers[at + 1]!
  const chunks: Uint8Array[] = []
  if (isStream(body)) for await (const chunk of body) chunks.push(chunk)
  else if (body !== undefined) chunks.push(Buffer.from(body as Uint8Array))
  const text = Buffer.concat(chunks).toString()
  return { status, headers: fields, text, json: () => JSON.parse(text) as Record<string, unknown> }
}
