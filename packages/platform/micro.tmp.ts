import { Health, KERNEL_METRICS, Shutdown, systemRuntime, MemoryLog } from '@cairn/kernel'
import { Ingress, INGRESS_METRICS, NO_CAPABILITIES, PrometheusMetrics, defineRoutes, ingressSection, json, route } from '@cairn/platform'
const metrics = process.argv[2] === 'none' ? { count() {}, set() {}, observe() {} } : new PrometheusMetrics('b', { ...KERNEL_METRICS, ...INGRESS_METRICS })
const runtime = systemRuntime(new MemoryLog(), metrics)
const ingress = new Ingress({ runtime, shutdown: new Shutdown(), config: ingressSection().parse({ access_log_ratio: 0 }), authorizer: NO_CAPABILITIES,
  ops: { health: new Health([]), version: {}, metricsText: () => '' },
  routes: defineRoutes([route({ method: 'GET', path: '/hello', lane: 'inline', summary: '', responses: {}, handler: () => json(200, { hello: 'world' }) })]) })
const request = { method: 'GET', target: '/hello', headers: ['Host', '127.0.0.1', 'User-Agent', 'bench', 'Accept', '*/*'], body: undefined, peer: { address: '127.0.0.1', kind: 'tcp' as const }, door: 'service' as const, crowded: false, signal: new AbortController().signal }
const N = 300000
for (let round = 0; round < 4; round++) {
  const t = process.cpuUsage()
  for (let i = 0; i < N; i++) await ingress.handle(request)
  const u = process.cpuUsage(t)
  console.log(((u.user + u.system) / N).toFixed(2), 'us')
}
