import { ingressSection, listenKeys } from '@cairn/http'
import { byteSize, duration, section, setting } from '@cairn/platform'
import { MAX_TREE_BYTES, parseAddress } from '@cairn/wire'
import { z } from 'zod'

export const EDGE_PORT_OFFSET = 4

const count = (min: number): z.ZodNumber => z.number().int().min(min)

/** A name that is one plain segment of a path. */
const segment = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, 'must be letters, digits, "." "_" or "-"')
const headerName = z.string().regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/, 'must be the name of a header')

const upstreamUrl = z.string().refine((text) => {
  const url = URL.parse(text)
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) return false
  return url.username === '' && url.password === '' && url.search === '' && url.hash === ''
}, 'must be a URL such as https://tiles.example.org/base/, without query or credentials')

const routeTable = z.strictObject({
  upstream: upstreamUrl,
  /** Whether queries are left out, all kept, or only these parameters, in this order. */
  query: z.union([z.literal('drop'), z.literal('keep'), z.array(z.string().min(1))]).prefault('keep'),
  request_headers: z.array(headerName).prefault([]),
  response_headers: z.array(headerName).prefault([]),
  pass_methods: z.array(z.enum(['POST', 'PUT', 'PATCH', 'DELETE', 'M-SEARCH'])).prefault([]),
})

/** A pack, as the configuration and whoever adds one say it. */
export const packSchema = z.strictObject({
  name: segment,
  path: z.string().min(1),
  b3: z
    .string()
    .refine((text) => isAddress(text), 'must be an address, b3: and 64 hex digits')
    .meta({ pattern: '^b3:[0-9a-f]{64}$' })
    .optional(),
  missing_tile: z.union([z.literal(204), z.literal(404)]).prefault(204),
})

function isAddress(text: string): boolean {
  try {
    parseAddress(text)
    return true
  } catch {
    return false
  }
}

function fillKeys() {
  return {
    workers: setting(count(1), { default: 64, reload: 'restart', does: 'Fills worked on at once.' }),
    fill_timeout: setting(duration({ min: 100 }), {
      default: '5s',
      reload: 'live',
      does: 'One try at an upstream until its header is here, and the longest pause in its body.',
    }),
    fill_body_timeout: setting(duration({ min: 1000 }), {
      default: '60s',
      reload: 'live',
      does: 'A fill from its first try to its last byte.',
    }),
    max_fill_bytes: setting(byteSize({ min: 1024 }), {
      default: '64MiB',
      reload: 'live',
      does: 'Largest body taken from an upstream or a provider.',
    }),
    retry: section({
      live_fill: section({
        base_ms: setting(count(1), {
          default: 50,
          reload: 'live',
          does: 'Pause before the second try; doubled after.',
        }),
        max_ms: setting(count(1), {
          default: 800,
          reload: 'live',
          does: 'Longest pause between tries, before jitter.',
        }),
        max_retries: setting(count(0).max(5), {
          default: 2,
          reload: 'live',
          does: 'Tries after the first, on timeout, 503 and 504.',
        }),
        jitter: setting(z.boolean(), { default: true, reload: 'live', does: 'Adds up to `base_ms` to every pause.' }),
      }),
    }),
  }
}

function casKeys() {
  return {
    cas_max_bytes: setting(byteSize({ min: 1024 * 1024 }), {
      default: '1GiB',
      reload: 'restart',
      does: 'What the cache of upstream and provider bytes may hold; the least recently used goes first.',
    }),
    cas_cache_bytes: setting(byteSize({ min: 0 }), {
      default: '64MiB',
      reload: 'restart',
      does: 'Of those, kept in memory as well; and as much again of objects and files of sites.',
    }),
  }
}

/** `[edge]` */
export const edgeSection = section({
  ...listenKeys(7070 + EDGE_PORT_OFFSET),
  // More than `work` (512) and its workers (64) hold: when the line is full, what is stored is still served.
  ingress: ingressSection({ max_rps: 500, burst: 500, max_inflight: 1024, hosts: ['*.localhost'] }),
  drain_deadline: setting(duration({ min: 1000, max: 5000 }), {
    default: '3s',
    reload: 'restart',
    does: 'How long accepted work may take to finish on shutdown.',
  }),
  mode: setting(z.enum(['offline', 'live']), {
    default: 'offline',
    reload: 'live',
    does: '`offline` asks no upstream for anything; `live` fills misses of `routes` from them.',
    designName: 'edge.mode',
  }),
  allow: setting(z.array(z.string().min(1)), {
    default: [],
    reload: 'live',
    does: 'Hosts upstreams and redirects may lead to, each with its port where that is not 443; no wildcards.',
    designName: 'edge.allow',
  }),
  dev_allow_loopback_http: setting(z.boolean(), {
    default: false,
    reload: 'restart',
    does: 'For tests: upstreams on this machine, over plain HTTP. Refused with an address beyond loopback.',
  }),
  routes: setting(z.record(segment, z.union([upstreamUrl, routeTable])), {
    default: {},
    reload: 'live',
    does: 'Upstreams by name: `osm = "https://tiles.example.org/"`, or a table with `upstream`, `query`, `request_headers`, `response_headers`, `pass_methods`.',
  }),
  packs: setting(z.array(packSchema), {
    default: [],
    reload: 'live',
    does: 'Tile packs: `name`, `path` to a PMTiles or MBTiles file, `b3` if it must be this one, `missing_tile` 204 or 404.',
    designName: 'edge.packs',
  }),
  sites: setting(z.record(z.string().min(1), z.string().min(1)), {
    default: {},
    reload: 'live',
    does: 'Websites on their own origin: `docs = "site@1.0"` at `docs.localhost`, `"docs.example.org" = …` at that host.',
  }),
  max_directory_bytes: setting(byteSize({ min: 1024, max: MAX_TREE_BYTES }), {
    default: '4MiB',
    reload: 'live',
    does: 'Largest directory of a site, about 60 000 files; a larger one is 422 `directory_too_large`.',
  }),
  http: section({
    enable_multi_range: setting(z.boolean(), {
      default: false,
      reload: 'live',
      does: 'Whether several ranges in one request are answered; 416 otherwise.',
      designName: 'http.enable_multi_range',
    }),
  }),
  ...fillKeys(),
  ...casKeys(),
})

export type EdgeConfig = z.output<typeof edgeSection>
export type PackConfig = EdgeConfig['packs'][number]
export type RouteConfig = z.output<typeof routeTable>

/** Every upstream as a table, however short it was written. */
export function routeConfigs(config: EdgeConfig): ReadonlyMap<string, RouteConfig> {
  const rows = Object.entries(config.routes).map(
    ([name, row]) => [name, typeof row === 'string' ? routeTable.parse({ upstream: row }) : row] as const,
  )
  return new Map(rows)
}
