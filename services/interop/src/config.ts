import { ingressSection, listenKeys } from '@cairn/http'
import { isKind } from '@cairn/kernel'
import { parseName } from '@cairn/names'
import { byteSize, duration, section, setting } from '@cairn/platform'
import { z } from 'zod'
import { PROVIDER_NAMES, providersSection, secretReferences } from './providers/config.ts'
import type { Effect, Rule } from './rules/rule.ts'

// `interop.rules = [{ provider, event, then }]`.

/** Each is looked at for every webhook. */
const RULES_MAX = 256
const TOPIC = /^[a-z0-9][a-z0-9._-]{0,63}$/
const THEN = 'must be "mailbox:topic", "propose:name@version" or "forward:https://…"'

const effectSchema = z.string().transform((text, context): Effect => {
  const read = readEffect(text)
  if (typeof read === 'object') return read
  context.addIssue({ code: 'custom', message: read })
  return z.NEVER
})

/** The effect a text spells, or what is wrong with it. */
function readEffect(text: string): Effect | string {
  const colon = text.indexOf(':')
  const target = text.slice(colon + 1)
  switch (text.slice(0, colon)) {
    case 'mailbox':
      if (TOPIC.test(target)) return { tag: 'mailbox', topic: target }
      return `names the topic ${JSON.stringify(target)}; a topic has 1 to 64 of a-z 0-9 . _ -`
    case 'propose':
      return readProposal(target)
    case 'forward':
      return readForward(target)
    default:
      return THEN
  }
}

function readProposal(name: string): Effect | string {
  try {
    return { tag: 'propose', name: parseName(name) }
  } catch (error) {
    if (isKind(error, 'Malformed')) return `cannot propose: ${error.message}`
    throw error
  }
}

/** Whether plain HTTP may be used, and where to, is for the egress policy: it knows the configuration of forwards. */
function readForward(text: string): Effect | string {
  const url = URL.parse(text)
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    return `cannot forward to ${JSON.stringify(text)}; write an https:// URL`
  }
  if (url.username !== '' || url.password !== '')
    return 'has a user or password in its URL; the signature proves who sends'
  if (url.hash !== '') return 'has a fragment in its URL, which is never sent; leave it out'
  return { tag: 'forward', url: url.href }
}

const rule = z
  .strictObject({
    provider: z.enum(PROVIDER_NAMES),
    event: z.string().regex(/^[\x21-\x7e]{1,200}$/, 'must be an event of the provider, or "*" for all'),
    // oxlint-disable-next-line unicorn/no-thenable -- a word of the configuration; the rule it becomes has no such field
    then: effectSchema,
  })
  .transform(({ provider, event, then: effect }): Rule => ({ provider, event, effect }))

export const rulesSetting = setting(z.array(rule).max(RULES_MAX), {
  default: [],
  reload: 'restart',
  does: 'What becomes of verified webhooks: `{ provider, event, then }`, the event `*` for all, `then` one of `mailbox:topic`, `propose:name@version`, `forward:https://…`.',
})

/** `[interop.forward]`. */
export const forwardSection = section({
  secrets: setting(secretReferences, {
    default: [],
    reload: 'restart',
    secret: true,
    does: 'Where the secrets are (`whsec_…`) that sign what is forwarded; all that count sign, so that one can follow another.',
  }),
  format: setting(z.enum(['raw', 'cloudevents']), {
    default: 'raw',
    reload: 'restart',
    does: 'What is sent: the body as it came, or a CloudEvents 1.0 event around it.',
  }),
  timeout: setting(duration({ min: 1000, max: 30_000 }), {
    default: '15s',
    reload: 'restart',
    does: 'One forward, tries included.',
  }),
  dev_allow_loopback_http: setting(z.boolean(), {
    default: false,
    reload: 'restart',
    does: 'For tests: forwards may go to `http://` and loopback addresses.',
  }),
})

export type ForwardConfig = z.output<typeof forwardSection>

export const INTEROP_PORT_OFFSET = 5

const MEBIBYTE = 1024 * 1024
/** Larger would let one message hold a worker's lease for longer than anybody watches. */
const VISIBILITY_MS_MAX = 12 * 60 * 60 * 1000

/** `[interop]`. Secrets are named here, never written: see `providers`. */
export const interopSection = section({
  ...listenKeys(7070 + INTEROP_PORT_OFFSET),
  ingress: ingressSection({ max_rps: 500, burst: 250, request_timeout: '2s' }),
  drain_deadline: setting(duration({ min: 1000, max: 5000 }), {
    default: '3s',
    reload: 'restart',
    does: 'How long accepted work may take to finish on shutdown.',
  }),
  drive_timeout: setting(duration({ min: 100 }), {
    default: '5s',
    reload: 'restart',
    does: 'One operation of the drive; a drive that takes longer counts as stalled.',
  }),
  workers: setting(z.number().int().min(1).max(256), {
    default: 16,
    reload: 'restart',
    does: 'Verified webhooks and puts worked on at once.',
  }),
  verification: section({
    concurrent_per_address: setting(z.number().int().min(1).max(1024), {
      default: 16,
      reload: 'live',
      does: 'Webhooks of one address that are read and verified at once; more are answered 429, so that one sender cannot keep out the others.',
    }),
    concurrent: setting(z.number().int().min(16).max(65_536), {
      default: 1024,
      reload: 'live',
      does: 'Webhooks of all addresses that are read and verified at once; past it the one that has taken longest is answered 429.',
    }),
    max_bytes: setting(byteSize({ min: 25 * MEBIBYTE }), {
      default: '64MiB',
      reload: 'live',
      does: 'Bytes of all webhooks that are being read and verified; past it the one that has taken longest is answered 429.',
    }),
  }),
  limits: section({
    max_put_bytes: setting(byteSize({ min: 1024 }), {
      default: '16GiB',
      reload: 'live',
      does: 'Largest object a streamed `/put` takes.',
    }),
  }),
  mailbox: section({
    visibility: setting(duration({ min: 1000, max: VISIBILITY_MS_MAX }), {
      default: '30s',
      reload: 'restart',
      does: 'How long a consumer has a message before it is given to another.',
      designName: 'mailbox.visibility_timeout',
    }),
    max_deliveries: setting(z.number().int().min(1).max(1000), {
      default: 10,
      reload: 'restart',
      does: 'Deliveries of a message before it becomes a dead letter.',
      designName: 'mailbox.max_retries',
    }),
    max_messages: setting(z.number().int().min(1), {
      default: 100_000,
      reload: 'restart',
      does: 'Messages kept over all topics, dead letters included; at the bound webhooks are answered 503.',
    }),
  }),
  replay: section({
    max_keys: setting(z.number().int().min(1), {
      default: 100_000_000,
      reload: 'restart',
      does: 'Deliveries remembered, on the drive but for the newest; at the bound webhooks are answered 503, and none is forgotten early.',
    }),
  }),
  journal: section({
    keep_bytes: setting(byteSize({ min: MEBIBYTE }), {
      default: '256MiB',
      reload: 'live',
      does: 'How large the journal may be. Past it the oldest audit lines go; messages and replay keys stay.',
    }),
  }),
  audit: section({
    sink: setting(z.enum(['memory', 'file', 'stdout']), {
      default: 'memory',
      reload: 'restart',
      does: 'Where audit lines go beside the journal: nowhere, `audit.log` in the data directory, or the log.',
    }),
    anchor_interval: setting(duration({ min: 1000 }), {
      default: '60s',
      reload: 'restart',
      does: 'How often the head of the audit chain is written into the registry.',
    }),
  }),
  brownout: section({
    error_rate: setting(z.number().gt(0).max(1), {
      default: 0.01,
      reload: 'live',
      does: 'The part of answers of 5 minutes that may be failures of ours.',
      designName: 'readiness.brownout_error_rate_threshold',
    }),
    upstream_p95: setting(duration({ min: 100 }), {
      default: '500ms',
      reload: 'live',
      does: 'How slow the slowest twentieth of the calls to other services may be.',
      designName: 'readiness.upstream_p95_latency_threshold',
    }),
  }),
  providers: providersSection,
  rules: rulesSetting,
  forward: forwardSection,
})

export type InteropConfig = z.output<typeof interopSection>
