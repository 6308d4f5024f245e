export type { Listen, Listener, ListenerOptions } from './connection/listener.ts'
export { type ListenAddress, parseBindAddress } from './connection/listener.ts'
export { checkListen } from './connection/listeners.ts'
export { type ApiTitle } from './docs/openapi.ts'
export { capabilityAuthorizer, NO_CAPABILITIES } from './pipeline/authorizer.ts'
export { type IngressConfig, ingressSection, type ListenConfig, listenKeys } from './pipeline/config.ts'
export { Ingress, type IngressOptions, type SiteHosts, type WorkLane } from './pipeline/ingress.ts'
export { INGRESS_METRICS, latencyLimitMs, type Traffic } from './pipeline/metrics.ts'
export { type OpsSource, type ReadyFields } from './pipeline/ops-routes.ts'
export {
  type ContextOf,
  defineRoutes,
  type RequestContext,
  type RequestHead,
  type Route,
  type RouteRow,
  type RouteTable,
  route,
} from './pipeline/route.ts'
export type { CheckHost, ServiceHost, ServiceModule, StartedService } from './pipeline/service.ts'
export {
  queueLane,
  type RunningService,
  runService,
  type ServiceConfig,
  type ServiceParts,
  type StopTogether,
  serveWorkLane,
  type WorkQueue,
} from './pipeline/service.ts'
export type { RequestHeaders } from './request/request-headers.ts'
export { type EventSource, eventFrame, eventStream, eventsRoute, type ServerEvent } from './response/event-stream.ts'
export { empty, type IngressRequest, json, problem } from './response/message.ts'
export {
  type ByterangesFrame,
  byterangesFrame,
  isSelective,
  judgeConditions,
  rangeLength,
  type SelectingRequest,
  type Selection,
  selectBytes,
} from './response/representation.ts'
export type { RefusedRequest } from './response/responder.ts'
