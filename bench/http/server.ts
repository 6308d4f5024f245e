/**
 * The server side of the ingress bench, in a process of its own: `bare`, `sampled` or `logged`.
 *
 * Says its port on standard output, and ends when standard input does: with whoever started it, whatever happens.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  INGRESS_METRICS,
  ingressSection,
  json,
  listenKeys,
  NO_CAPABILITIES,
  route,
  runService,
  type ServiceConfig,
} from '@cairn/http'
import { Config, KERNEL_METRICS, SystemClock, systemRuntime } from '@cairn/kernel'
import { LogOutput, PrometheusMetrics, section, standardError } from '@cairn/platform'

const BODY = { hello: 'world' }

/** What a program would write that wants nothing but to answer. */
async function bare(): Promise<number> {
  const server = createServer((_, response) => {
    const body = JSON.stringify(BODY)
    response.writeHead(200, ['Content-Type', 'application/json', 'Content-Length', String(Buffer.byteLength(body))])
    response.end(body)
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  return (server.address() as AddressInfo).port
}

async function ours(access_log_ratio: number): Promise<number> {
  const log = new LogOutput({
    destination: standardError(),
    format: 'json',
    level: 'info',
    clock: new SystemClock(),
  }).service('bench')
  const metrics = new PrometheusMetrics('bench', { ...KERNEL_METRICS, ...INGRESS_METRICS })
  const schema = section({ ...listenKeys(0), ingress: ingressSection() })
  const values: ServiceConfig = {
    ...schema.parse({ ingress: { access_log_ratio } }),
    drain_deadline: 1000,
    lame_duck: 0,
  }
  const hello = route({
    method: 'GET',
    path: '/hello',
    lane: 'inline',
    summary: 'Says hello.',
    responses: { 200: { description: 'Hello.' } },
    handler: () => json(200, BODY),
  })
  const service = await runService<ServiceConfig>({
    runtime: systemRuntime(log, metrics),
    config: new Config<ServiceConfig>({ values, origins: {} }),
    authorizer: NO_CAPABILITIES,
    conditions: [],
    version: {},
    metricsText: async () => await metrics.exposition(),
    build: async () => await Promise.resolve({ routes: [hello] }),
  })
  return Number(new URL(service.urls[0] ?? '').port)
}

const kind = process.argv[2]
const port = kind === 'bare' ? await bare() : await ours(kind === 'logged' ? 1 : 0.01)
process.stdout.write(`${port}\n`)
process.stdin.resume()
process.stdin.once('end', () => {
  process.exit(0)
})
