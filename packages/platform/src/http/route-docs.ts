import { table } from '@cairn/kernel'
import { errorsOf } from './openapi.ts'
import type { ProblemStyle } from './responder.ts'
import type { Route, RouteTable } from './route.ts'

/** The table of routes as Markdown; `codes` as for `openApi`. */
export function renderRoutes(routes: RouteTable, codes: ProblemStyle['codes'] = {}): string {
  const rows = routes.map((route) => [
    `\`${route.method}\``,
    `\`${route.path}\``,
    route.scope === undefined ? '' : `\`${route.scope}\``,
    laneOf(route),
    route.summary,
    Object.keys(route.responses).join(', '),
    errorsOf(route, codes)
      .map(({ status, code }) => `${status} \`${code}\``)
      .join(', '),
  ])
  return `${table(['method', 'path', 'scope', 'lane', 'what it does', 'answers', 'refusals'], rows)}\n`
}

function laneOf({ lane, limits }: Route): string {
  if (limits?.stream === undefined || limits.stream === false) return lane
  return limits.stream === true ? `${lane}, stream` : `${lane}, stream on request`
}
