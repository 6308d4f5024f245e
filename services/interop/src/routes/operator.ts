/** What an operator asks: the audit, the webhooks that are let in, and that what the journal lost is given up. */
import { json, type RouteTable, route } from '@cairn/http'
import { z } from 'zod'
import type { InteropConfig } from '../config.ts'
import { seqOf } from '../domain/audit-chain.ts'
import type { InteropParts } from '../parts.ts'
import { PROVIDER_NAMES } from '../providers/config.ts'
import { effectText } from '../rules/rule.ts'

// `GET /audit`: the chain, line by line, as it was written.

/** After the last line; where some were lost, numbers are left out. */
function nextOf(lines: readonly string[], from: number): number {
  const last = lines.at(-1)
  return last === undefined ? from : seqOf(last) + 1
}

const LINES_MAX = 1000

const query = z.strictObject({
  cursor: z.coerce.number().int().min(1).optional(),
  limit: z.coerce.number().int().min(1).max(LINES_MAX).default(100),
})

export function auditRoutes({ ledger }: InteropParts): RouteTable {
  return [
    route({
      method: 'GET',
      path: '/audit',
      lane: 'inline',
      scope: 'audit:read',
      summary:
        'Lines of the audit from `cursor` on, each exactly as it was hashed; and how far the registry vouches for them.',
      query,
      responses: {
        200: {
          description: 'Lines, oldest first.',
          schema: z.strictObject({
            lines: z.array(z.string()),
            next: z.int(),
            first: z.int(),
            count: z.int(),
            head: z.string(),
            anchored: z.int(),
            anchor: z.strictObject({ head: z.string(), count: z.int(), log_index: z.int() }).nullable(),
          }),
        },
      },
      errors: { DOWNSTREAM_UNAVAILABLE: 503 },
      handler: async ({ query: { cursor, limit } }) => {
        const { chain } = ledger
        const from = Math.max(cursor ?? chain.first, chain.first)
        const { count, head } = chain.point
        const { anchored, anchorIndex } = chain
        const lines = await ledger.lines(from, Math.min(limit, Math.max(0, count - from + 1)))
        const anchor =
          anchorIndex === undefined ? null : { head: anchored.head, count: anchored.count, log_index: anchorIndex }
        return json(200, {
          lines,
          next: nextOf(lines, from),
          first: chain.first,
          count,
          head,
          anchored: anchored.count,
          anchor,
        })
      },
    }),
  ]
}

/** `POST /admin/adopt`: the operator gives up what the journal lost. */
export function adoptRoutes({ ledger, runtime }: InteropParts): RouteTable {
  return [
    route({
      method: 'POST',
      path: '/admin/adopt',
      lane: 'inline',
      scope: 'interop:admin',
      summary:
        'Gives up what is missing in the journal, with a line of the audit that says so; from then on webhooks and puts are taken again.',
      responses: {
        200: {
          description: 'What was lost, and the line that says so.',
          schema: z.strictObject({ lost: z.string(), line: z.int() }),
        },
      },
      errors: { nothing_lost: 409, DOWNSTREAM_UNAVAILABLE: 503 },
      handler: async ({ corrId }) => {
        const adoption = await ledger.adopt(corrId)
        runtime.log.warn({ lost: adoption.lost, line: adoption.line }, 'what the journal lost was given up')
        return json(200, adoption)
      },
    }),
  ]
}

const hooks = z.strictObject({
  providers: z.array(
    z.strictObject({
      provider: z.enum(PROVIDER_NAMES),
      enabled: z.boolean(),
      secrets: z.array(z.strictObject({ id: z.string(), not_after: z.number().nullable() })),
    }),
  ),
  generic: z.record(z.string(), z.string()),
  rules: z.array(z.strictObject({ provider: z.string(), event: z.string(), effect: z.string() })),
})

export function hookRoutes({ config, secrets }: InteropParts): RouteTable {
  return [
    route({
      method: 'GET',
      path: '/webhooks',
      lane: 'inline',
      scope: 'interop:admin',
      summary:
        'Every provider, where its secrets are and until when they count; how `generic` signs; and the rules. Tells no secret.',
      responses: { 200: { description: 'What is in force.', schema: hooks } },
      errors: {},
      handler: () => {
        const { providers, rules } = config()
        return json(200, {
          providers: PROVIDER_NAMES.map((provider) => ({
            provider,
            enabled: providers[provider].enabled,
            // Of providers that are off nothing is told: what is written there was never read as a place of a secret.
            secrets: (secrets.get(provider) ?? []).map(({ id, notAfterMs }) => ({ id, not_after: notAfterMs ?? null })),
          })),
          generic: scheme(providers.generic),
          rules: rules.map(({ provider, event, effect }) => ({ provider, event, effect: effectText(effect) })),
        })
      },
    }),
  ]
}

/** What a sender has to know to sign for the generic provider. */
function scheme(generic: InteropConfig['providers']['generic']): Readonly<Record<string, unknown>> {
  const { enabled: _on, secrets: _secrets, max_body_bytes: _bytes, retries: _retries, ...rest } = generic
  const { allowed_hosts: _hosts, allowed_cidrs: _blocks, ...signing } = rest
  return signing
}
