/** What an administrator asks of a running node; the command line is the usual caller. */

import { nodeAnswers } from '@cairn/api'
import { defineRoutes, eventsRoute, json, type RouteTable, route } from '@cairn/http'
import { CairnError, type Clock, type EventBus } from '@cairn/kernel'
import { type ReloadOutcome, renderProblems } from '@cairn/platform'
import { AUDIENCES, type Caveat, SCOPES, type Scope } from '@cairn/wire'
import { z } from 'zod'
import { type ApiService, apiPage } from './api-page.ts'
import type { BackupLocks } from './backup-locks.ts'
import { type ConsoleParts, consoleRoutes } from './console/routes.ts'
import type { TokenKeys } from './token-keys.ts'

export interface NodeStatus {
  readonly version: string
  readonly pid: number
  readonly uptime_ms: number
  readonly urls: readonly string[]
  readonly data: string
  readonly kept: boolean
  readonly ready: boolean
  readonly services: readonly {
    readonly name: string
    readonly urls: readonly string[]
    readonly ready: boolean
    readonly missing: readonly string[]
    /** What is wrong although it serves, a sentence each: what `/readyz` calls degraded, and missing copies. */
    readonly concerns: readonly string[]
    /** What harms nothing that is served, and an operator should know; absent if there is nothing. */
    readonly notices?: readonly string[]
    readonly summary: string
  }[]
  /** Services of other processes that those of this one call. */
  readonly elsewhere: readonly {
    readonly name: string
    readonly url: string
    readonly ready: boolean
    readonly why: string
  }[]
}

/** What the routes need of the node. */
export interface NodeControl {
  status(): Promise<NodeStatus>
  /** Begins to stop; the answer still goes out. */
  requestStop(): void
  reload(): Promise<ReloadOutcome>
  config(): readonly { key: string; value: unknown; origin: string; reload: string }[]
  /** What every service of this process serves. */
  api(): readonly ApiService[]
  readonly keys: Pick<TokenKeys, 'mint' | 'describe' | 'revoke'>
  readonly backupLocks: Pick<BackupLocks, 'hold' | 'release'>
  rotateKeys(): Promise<string>
  readonly console: ConsoleParts
}

/** A compaction that is under way is waited for. */
const HOLD_TIMEOUT_MS = 90_000

const admin = { lane: 'inline', scope: 'node:admin' } as const
const scope = z.enum(Object.keys(SCOPES) as readonly Scope[], 'must be a scope from the table, such as storage:write')

const mintBody = z.strictObject({
  aud: z.enum(AUDIENCES),
  scopes: z.array(scope).min(1),
  /** Seconds from now; the end is a whole number that a token can hold. */
  ttl_s: z
    .int()
    .min(1)
    .max(2 ** 52)
    .optional(),
  path_prefix: z.string().meta({ pattern: '^/(?:[\\w~-][\\w.~-]*(?:/[\\w~-][\\w.~-]*)*)?$' }).optional(),
  methods: z
    .array(z.string().meta({ pattern: '^[A-Z]{1,16}$' }))
    .min(1)
    .optional(),
  max_bytes: z.int().min(0).optional(),
})

export function nodeRoutes(control: NodeControl, clock: Clock, events: EventBus): RouteTable {
  return defineRoutes([
    route({
      lane: 'inline',
      method: 'GET',
      path: '/api',
      summary: 'The API reference of every service of this process, as a page.',
      responses: { 200: { description: 'The page.', mediaType: 'text/html' } },
      handler: () => apiPage(control.api()),
    }),
    route({
      ...admin,
      method: 'GET',
      path: '/admin/status',
      summary: 'Every service: where it listens, whether it is ready, and what it waits for if not.',
      responses: { 200: { description: 'The node now.', schema: nodeAnswers.nodeStatus } },
      handler: async () => json(200, await control.status()),
    }),
    route({
      ...admin,
      method: 'POST',
      path: '/admin/stop',
      summary: 'Drains and ends the node.',
      responses: { 202: { description: 'It has begun.', schema: z.strictObject({ stopping: z.literal(true) }) } },
      handler: () => {
        control.requestStop()
        return json(202, { stopping: true })
      },
    }),
    route({
      ...admin,
      method: 'GET',
      path: '/admin/config',
      summary: 'Every key with the value in force and where it came from; secrets are not shown.',
      responses: { 200: { description: 'The keys.', schema: nodeAnswers.configKeys } },
      handler: () => json(200, control.config()),
    }),
    route({
      ...admin,
      method: 'POST',
      path: '/admin/config/reload',
      summary: 'Reads the configuration again and takes it over whole, or says why not and keeps the old one.',
      responses: {
        200: { description: 'What changed, and what waits for a restart.', schema: nodeAnswers.reloaded },
      },
      errors: { config_refused: 409 },
      handler: async () => {
        const outcome = await control.reload()
        if (outcome.tag === 'reloaded') return json(200, outcome)
        const detail = `The old configuration stays in force:\n${renderProblems(outcome.problems)}`
        throw new CairnError('Conflict', detail, { code: 'config_refused' })
      },
    }),
    ...consoleRoutes(control.console),
    ...backupLockRoutes(control),
    ...tokenRoutes(control, clock),
    eventsRoute(clock, events),
  ])
}

const holder = z.string().regex(/^[\w-]{1,64}$/, 'must be 1 to 64 letters, digits, _ or -')

function backupLockRoutes({ backupLocks }: NodeControl): RouteTable {
  return [
    route({
      ...admin,
      method: 'POST',
      path: '/admin/upkeep/hold',
      summary: 'Nothing is swept, compacted or pruned for a time, so that files can be copied; asked again it goes on.',
      body: z.strictObject({ holder, for_s: z.int().min(1).max(600) }),
      limits: { timeoutMs: HOLD_TIMEOUT_MS },
      responses: { 200: { description: 'It is so now.', schema: z.strictObject({ held: z.literal(true) }) } },
      handler: async ({ body }) => {
        await backupLocks.hold(body.holder, body.for_s * 1000)
        return json(200, { held: true })
      },
    }),
    route({
      ...admin,
      method: 'POST',
      path: '/admin/upkeep/release',
      summary: 'The copy is made: maintenance goes on.',
      body: z.strictObject({ holder }),
      responses: { 200: { description: 'It may.', schema: z.strictObject({ held: z.literal(false) }) } },
      handler: async ({ body }) => {
        await backupLocks.release(body.holder)
        return json(200, { held: false })
      },
    }),
  ]
}

function tokenRoutes(control: NodeControl, clock: Clock): RouteTable {
  const { keys } = control
  return [
    route({
      ...admin,
      method: 'POST',
      path: '/admin/tokens',
      summary: 'Mints a capability token for one service.',
      body: mintBody,
      responses: { 201: { description: 'The token.', schema: z.strictObject({ token: z.string() }) } },
      handler: ({ body }) => json(201, { token: keys.mint(body.aud, body.scopes, caveatsOf(body, clock.wall())) }),
    }),
    route({
      ...admin,
      method: 'GET',
      path: '/admin/keys',
      summary: 'The root keys by kid and state, without the secrets.',
      responses: { 200: { description: 'The keyring.', schema: nodeAnswers.rootKeys } },
      handler: () => json(200, keys.describe()),
    }),
    route({
      ...admin,
      method: 'POST',
      path: '/admin/keys/rotate',
      summary: 'Makes a new root key and a new admin token; the former root verifies for a day more.',
      responses: { 200: { description: 'The new kid.', schema: z.strictObject({ kid: z.string() }) } },
      handler: async () => json(200, { kid: await control.rotateKeys() }),
    }),
    route({
      ...admin,
      method: 'POST',
      path: '/admin/tokens/:tid/revoke',
      summary: 'Refuses a token from now on.',
      params: z.strictObject({ tid: z.string().regex(/^[0-9a-f]{32}$/, 'must be the 32 hex digits of a token id') }),
      responses: { 200: { description: 'Refused from now on.', schema: z.strictObject({ revoked: z.string() }) } },
      handler: async ({ params: { tid } }) => {
        await keys.revoke(tid)
        return json(200, { revoked: tid })
      },
    }),
  ]
}

function caveatsOf(body: z.output<typeof mintBody>, nowMs: number): Caveat[] {
  const caveats: Caveat[] = []
  if (body.ttl_s !== undefined) caveats.push({ kind: 'exp', at: Math.floor(nowMs / 1000) + body.ttl_s })
  if (body.path_prefix !== undefined) caveats.push({ kind: 'path_prefix', prefix: body.path_prefix })
  if (body.methods !== undefined) caveats.push({ kind: 'method', methods: body.methods })
  if (body.max_bytes !== undefined) caveats.push({ kind: 'bytes_le', bytes: body.max_bytes })
  return caveats
}
