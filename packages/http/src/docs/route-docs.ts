import { table } from '@cairn/kernel'
import type { Route, RouteTable } from '../pipeline/route.ts'
import type { ProblemStyle } from '../response/responder.ts'
import { errorsOf } from './openapi.ts'

/** What is said of many routes at once, so that no row repeats it. */
const GROUPS: readonly { readonly who: string; readonly has: (route: Route) => boolean }[] = [
  { who: 'Every route', has: ({ lane }) => lane !== 'ops' },
  { who: 'One with a scope', has: ({ scope }) => scope !== undefined },
  { who: 'One that takes a body', has: ({ body }) => body !== undefined },
]

/** The table of routes as Markdown; `codes` as for `openApi`. What all routes of a group refuse stands above it. */
export function renderRoutes(routes: RouteTable, codes: ProblemStyle['codes'] = {}): string {
  const refusals = (route: Route): string[] => errorsOf(route, codes).map(({ status, code }) => `${status} \`${code}\``)
  const common = new Map<string, (route: Route) => boolean>()
  const sentences: string[] = []
  for (const { who, has } of GROUPS) {
    const [first = [], ...others] = routes.filter(has).map(refusals)
    const shared = first.filter((text) => !common.has(text) && others.every((list) => list.includes(text)))
    if (others.length === 0 || shared.length === 0) continue
    for (const text of shared) common.set(text, has)
    sentences.push(`${who} may refuse with ${shared.join(', ')}.`)
  }
  const rows = routes.map((route) => [
    `\`${route.method}\``,
    `\`${route.path}\``,
    route.scope === undefined ? '' : `\`${route.scope}\``,
    laneOf(route),
    route.summary,
    Object.keys(route.responses).join(', '),
    byStatus(refusals(route).filter((text) => common.get(text)?.(route) !== true)),
  ])
  const head = ['method', 'path', 'scope', 'lane', 'what it does', 'answers', 'further refusals']
  const above = sentences.length === 0 ? '' : `${sentences.join(' ')}\n\n`
  return `${above}${table(head, rows)}\n`
}

/** Each status once, with its codes. */
function byStatus(refusals: readonly string[]): string {
  const codes = Map.groupBy(refusals, (text) => text.slice(0, 3))
  return [...codes].map(([status, texts]) => `${status} ${texts.map((text) => text.slice(4)).join(' ')}`).join(', ')
}

/** `inline` goes without saying. */
function laneOf({ lane, limits }: Route): string {
  const own = lane === 'inline' ? [] : [lane]
  if (limits?.stream === undefined || limits.stream === false) return own.join('')
  return [...own, limits.stream === true ? 'stream' : 'stream on request'].join(', ')
}
