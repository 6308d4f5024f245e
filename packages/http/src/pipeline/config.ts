/**
 * The `[<service>.ingress]` block and the listener keys beside it, the same in all five services. A service
 * gives its own defaults where the design notes do.
 */

import { byteSize, duration, section, setting } from '@cairn/platform'
import { z } from 'zod'

export interface IngressDefaults {
  readonly max_rps?: number
  readonly burst?: number
  readonly max_inflight?: number
  readonly max_connections_per_address?: number
  readonly request_timeout?: string
  readonly hosts?: readonly string[]
}

const count = (min: number): z.ZodNumber => z.number().int().min(min)

/** Limits on requests, transfers and connections. */
export function ingressSection(defaults: IngressDefaults = {}) {
  return section({
    ...bodyKeys(),
    ...requestKeys(defaults),
    ...transferKeys(),
    ...connectionKeys(defaults),
    cors: section({
      allow_origins: setting(z.array(z.string().refine(isOrigin, 'must be an origin such as https://example.org')), {
        default: [],
        reload: 'live',
        does: 'Origins whose pages may call this service from a browser.',
      }),
    }),
  })
}

function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text
}

function bodyKeys() {
  return {
    max_body_bytes: setting(byteSize({ min: 1024 }), {
      default: '1MiB',
      reload: 'live',
      does: 'Largest request body on the wire; more is 413. Routes that stream have their own bound.',
      designName: 'limits.max_body_bytes, ingress.body_bytes',
    }),
    decompress_max_ratio: setting(count(1), {
      default: 10,
      reload: 'live',
      does: 'How many times its size on the wire a coded body may grow to; more is 413.',
      designName: 'limits.decompress_ratio_cap, ingress.decompress_max_ratio',
    }),
    decompress_max_bytes: setting(byteSize({ min: 1024 }), {
      default: '10MiB',
      reload: 'live',
      does: 'Largest decoded body.',
      designName: 'ingress.decompress_abs_bytes',
    }),
    decompress_max_total_bytes: setting(byteSize({ min: 1024 }), {
      default: '128MiB',
      reload: 'live',
      does: 'Decoded bodies in memory at once, over all requests; a coded body that might not fit is answered 429.',
    }),
  }
}

function requestKeys(defaults: IngressDefaults) {
  return {
    max_inflight: setting(count(1), {
      default: defaults.max_inflight ?? 512,
      reload: 'live',
      does: 'Requests worked on at once; more are answered 429.',
      designName: 'server.max_inflight, limits.inflight',
    }),
    max_streams: setting(count(1), {
      default: 1024,
      reload: 'live',
      does: 'Event streams, long polls and streamed bodies open at once; they do not count as in flight.',
    }),
    max_rps: setting(count(0), {
      default: defaults.max_rps ?? 0,
      reload: 'live',
      does: 'Requests a second over all clients; 0 is no limit.',
      designName: 'server.max_rps, limits.rps, ingress.rps_limit',
    }),
    burst: setting(count(1), {
      default: defaults.burst ?? 250,
      reload: 'live',
      does: 'Requests that may come at once on top of the rate.',
    }),
    max_rps_per_address: setting(count(0), {
      default: 0,
      reload: 'live',
      does: 'Requests a second from one address, IPv6 by its /64; 0 is no limit.',
      designName: 'ratelimit.rate_per_sec',
    }),
    burst_per_address: setting(count(1), {
      default: 200,
      reload: 'live',
      does: 'Requests of one address that may come at once on top of that rate.',
      designName: 'ratelimit.burst',
    }),
    request_timeout: setting(duration({ min: 1 }), {
      default: defaults.request_timeout ?? '5s',
      reload: 'live',
      does: 'The budget of a request that does not stream; a client may ask for less.',
      designName: 'ingress.timeout_secs',
    }),
    access_log_ratio: setting(z.number().min(0).max(1), {
      default: 0.01,
      reload: 'live',
      does: 'The part of requests that get a line in the log; failures of ours (5xx) always do.',
      designName: 'log.sample',
    }),
  }
}

function transferKeys() {
  return {
    header_timeout: setting(duration({ min: 1 }), {
      default: '5s',
      reload: 'live',
      does: 'How long the header of a request may take to arrive.',
    }),
    max_header_bytes: setting(byteSize({ min: 1024, max: 1024 * 1024 }), {
      default: '16KiB',
      reload: 'restart',
      does: 'Largest request header; more is 431.',
    }),
    read_timeout: setting(duration({ min: 1 }), {
      default: '5s',
      reload: 'live',
      does: 'Longest pause in a request body.',
    }),
    write_timeout: setting(duration({ min: 1 }), {
      default: '5s',
      reload: 'live',
      does: 'Longest time a client may take no byte of a response.',
    }),
    min_bytes_per_second: setting(count(0), {
      default: 16 * 1024,
      reload: 'live',
      does: 'Slowest transfer in either direction, over `rate_window`; 0 is no limit.',
    }),
    rate_window: setting(duration({ min: 1 }), {
      default: '30s',
      reload: 'live',
      does: 'Over how much time spent waiting for a client its rate is judged.',
    }),
  }
}

function connectionKeys(defaults: IngressDefaults) {
  return {
    idle_timeout: setting(duration({ min: 1 }), {
      default: '60s',
      reload: 'live',
      does: 'How long a connection without a request is kept.',
    }),
    max_connections: setting(count(1), {
      default: 1024,
      reload: 'live',
      does: 'Connections at once; past it the longest idle one makes room.',
      designName: 'max_conns',
    }),
    max_connections_per_address: setting(count(0), {
      default: defaults.max_connections_per_address ?? 0,
      reload: 'live',
      does: 'Connections at once from one address, IPv6 by its /64, trusted proxies excepted; 0 is no limit.',
      designName: 'server.connection_limit_per_ip',
    }),
    hosts: setting(z.array(z.string().regex(/^(\*\.)?[a-z0-9[\]:._-]+$/i)), {
      default: [...(defaults.hosts ?? [])],
      reload: 'live',
      does: 'Host names answered to, beside the loopback ones; `*.name` stands for all below it. Others are 421.',
    }),
    trusted_proxies: setting(z.array(z.string()), {
      default: [],
      reload: 'live',
      does: 'Address blocks whose `X-Forwarded-For` is believed, for capabilities bound to an address and for the rate of one.',
    }),
  }
}

export type IngressConfig = z.output<ReturnType<typeof ingressSection>>

/** Where a service listens: keys of the service itself, beside its `ingress` section. */
export function listenKeys(port: number) {
  return {
    bind_addr: setting(z.string(), {
      default: `127.0.0.1:${port}`,
      reload: 'rebind',
      does: 'Address and port; port 0 takes a free one.',
    }),
    metrics_addr: setting(z.string(), {
      reload: 'rebind',
      does: 'A second address that serves only health, metrics and topology, without a token.',
    }),
    insecure_public: setting(z.boolean(), {
      default: false,
      reload: 'rebind',
      does: 'Allows an address beyond loopback without TLS.',
    }),
    lame_duck: setting(duration({ max: 60_000 }), {
      default: '1s',
      reload: 'live',
      does: 'How long the port stays open at least once the service stops: `/readyz` and new requests get 503, so that a load balancer sees it before connections are refused.',
    }),
    uds: section({
      path: setting(z.string(), { reload: 'rebind', does: 'A Unix socket beside the port, for this user only.' }),
    }),
    tls: section({
      cert_path: setting(z.string(), {
        reload: 'rebind',
        does: 'Certificate chain (PEM); with `key_path` turns TLS 1.3 on.',
      }),
      key_path: setting(z.string(), { reload: 'rebind', does: 'Private key (PEM), readable by this user only.' }),
    }),
  }
}

export type ListenConfig = z.output<z.ZodObject<ReturnType<typeof listenKeys>>>
