import { z } from 'zod'
import { byteSize, duration, section, setting } from '../setting.ts'

/** A node of two services with one setting of every sort. */
export const SAMPLE = {
  storage: section({
    bind_addr: setting(z.string(), { reload: 'rebind', default: '127.0.0.1:7071', does: 'Where to listen.' }),
    data_dir: setting(z.string(), { reload: 'restart', default: './.cairn', does: 'Where data lives.' }),
    token: setting(z.string().min(8), { reload: 'live', secret: true, does: 'What peers present.' }),
    drain_deadline: setting(duration({ min: 1000, max: 5000 }), {
      reload: 'live',
      default: '3s',
      does: 'How long accepted work may take once shutdown begins.',
    }),
    ingress: section({
      max_body_bytes: setting(byteSize({ min: 1024 }), {
        reload: 'live',
        default: '1MiB',
        designName: 'limits.max_body_bytes',
        does: 'The largest body.',
      }),
      max_rps: setting(z.int().min(0), { reload: 'live', default: 0, does: 'Requests a second; 0 is off.' }),
    }),
  }),
  edge: section({
    bind_addr: setting(z.string(), { reload: 'rebind', default: '127.0.0.1:7074', does: 'Where to listen.' }),
    mode: setting(z.enum(['offline', 'live']), { reload: 'live', default: 'offline', does: 'Whether it fetches.' }),
    hsts: setting(z.boolean(), { reload: 'live', default: true, does: 'Whether to send HSTS.' }),
    allow: setting(z.array(z.string()), { reload: 'live', default: [], does: 'Hosts that may be fetched from.' }),
    routes: setting(z.record(z.string(), z.union([z.url(), z.strictObject({ url: z.url() })])), {
      reload: 'live',
      default: {},
      does: 'Upstreams by name.',
    }),
    packs: setting(z.array(z.strictObject({ name: z.string(), path: z.string(), b3: z.string().optional() })), {
      reload: 'live',
      default: [],
      does: 'Tile packs.',
    }),
  }),
}
