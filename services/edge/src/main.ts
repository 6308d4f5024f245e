/** The edge, from its parts to its port. */
import {
  defineRoutes,
  eventsRoute,
  type Listen,
  type RouteTable,
  runService,
  type ServiceHost,
  type ServiceModule,
  type StartedService,
} from '@cairn/http'
import { spellCount } from '@cairn/wire'
import { EDGE_PORT_OFFSET, type EdgeConfig, edgeSection } from './config.ts'
import { EDGE_CODES } from './errors.ts'
import { countProblem, EDGE_METRICS } from './metrics.ts'
import { checkParts, type EdgeDependencies, type EdgeParts, openParts } from './parts.ts'
import { adminRoutes } from './routes/admin.ts'
import { nameRoutes, objectRoutes, siteRoutes, upstreamRouteTable } from './routes/content.ts'
import { packRoutes } from './routes/packs.ts'
import { startTasks } from './tasks.ts'

/** Every route of the edge; those of sites are served on their own hosts, and nowhere else. */
export function edgeRoutes(parts: EdgeParts): RouteTable {
  return defineRoutes([
    ...objectRoutes(parts),
    ...nameRoutes(parts),
    ...packRoutes(parts),
    ...upstreamRouteTable(parts),
    ...adminRoutes(parts),
    eventsRoute(parts.runtime.clock, parts.events),
  ])
}

function siteRouteTable(parts: EdgeParts): RouteTable {
  return defineRoutes(siteRoutes(parts))
}

/** One line: what it serves, and how much it keeps. */
export function summaryOf({ config, cas, packTable }: EdgeParts): string {
  const { mode, routes, sites } = config()
  const { entries, bytes } = cas.facts()
  const counts = [
    spellCount(Object.keys(routes).length, 'upstream'),
    spellCount(packTable.count, 'pack'),
    spellCount(Object.keys(sites).length, 'site'),
  ].join(' · ')
  return `${mode} · ${counts} · ${spellCount(entries, 'response')}, ${Math.round(bytes / 1e6)} MB cached`
}

/** A node gives what every service needs, and its storage and index; the simulator also its own listener. */
export interface EdgeHost extends ServiceHost<EdgeConfig>, EdgeDependencies {
  readonly listen?: Listen
}

export async function startEdge(host: EdgeHost): Promise<StartedService<EdgeConfig>> {
  const parts = await openParts(host)
  const started = await runParts(host, parts)
  // Whoever asks next whether it is ready is to hear how the packs are, and not that they are being read.
  await parts.packTable.rounds.until((rounds) => rounds > 0)
  return started
}

/** The service around parts that are open; they are closed with it. */
export async function runParts(host: EdgeHost, parts: EdgeParts): Promise<StartedService<EdgeConfig>> {
  const { inflate, ...given } = host
  const running = await runService({
    ...given,
    ...(inflate === undefined ? {} : { inflate }),
    runtime: host.platform,
    conditions: ['packs_verified', 'cas_reachable', 'shedder_stable'],
    build: ({ supervisor, health }) => {
      startTasks(host, parts, supervisor, health)
      return {
        routes: edgeRoutes(parts),
        sites: { routes: siteRouteTable(parts), hosts: () => [...parts.siteNames().keys()] },
        codes: EDGE_CODES,
        reasonHeader: 'X-Reason',
        onProblem: (code, { isHandled }, original) => {
          countProblem(host.platform.metrics, code)
          // Refused before its handler, and not for its rate: too many are in flight.
          if (original === 'busy' && !isHandled) parts.fills.shed()
        },
        intake: [parts.fills.queue],
        events: parts.events,
        close: parts.close,
      }
    },
  })
  return { running, summary: async () => await Promise.resolve(summaryOf(parts)) }
}

export const EDGE: ServiceModule<EdgeConfig> = {
  name: 'edge',
  about: 'Objects, websites, map tiles and allowed upstreams over HTTP.',
  portOffset: EDGE_PORT_OFFSET,
  schema: edgeSection,
  metrics: EDGE_METRICS,
  start: startEdge,
  check: checkParts,
}
