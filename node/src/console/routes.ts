/** The console: its page and files, its sessions, and every service below its one origin. */
import { nodeAnswers } from '@cairn/api'
import { empty, json, type RequestContext, type RouteTable, route } from '@cairn/http'
import { AUDIENCES } from '@cairn/wire'
import { z } from 'zod'
import { type ForwardTarget, forward } from './forward.ts'
import type { LiveFeed } from './live.ts'
import type { ConsolePage } from './page.ts'
import type { ConsoleSessions } from './sessions.ts'

export interface ConsoleParts {
  readonly page: Pick<ConsolePage, 'document' | 'file'>
  readonly sessions: Pick<ConsoleSessions, 'mintCode' | 'signIn' | 'of' | 'list' | 'revoke' | 'facts'>
  readonly live: Pick<LiveFeed, 'stream'>
  /** Where people open it. */
  readonly url: () => string
  readonly target: (service: string) => ForwardTarget
}

const inline = { lane: 'inline' } as const
const admin = { ...inline, scope: 'node:admin' } as const
/** A token bundle has at most 12 KiB. */
const CREDENTIAL_MAX = 16 * 1024

const METHODS = ['GET', 'POST', 'PUT', 'DELETE'] as const

export function consoleRoutes(parts: ConsoleParts): RouteTable {
  return [...pageRoutes(parts), ...sessionRoutes(parts), ...adminRoutes(parts), ...forwardRoutes(parts)]
}

function pageRoutes({ page, live }: ConsoleParts): RouteTable {
  return [
    route({
      ...inline,
      method: 'GET',
      path: '/',
      summary: 'The console; an IP address of this machine leads to `localhost`.',
      responses: {
        200: { description: 'The page.', mediaType: 'text/html' },
        307: { description: 'The same at `localhost`.' },
      },
      handler: async (context) => await page.document(context),
    }),
    route({
      ...inline,
      method: 'GET',
      path: '/console/:hash/*',
      summary: 'A file of the console.',
      responses: { 200: { description: 'The file.', mediaType: 'text/javascript' } },
      errors: { not_found: 404 },
      handler: async (context) => {
        const { hash = '', '*': path = '' } = context.params
        return await page.file(hash, path, context)
      },
    }),
    route({
      ...admin,
      method: 'GET',
      path: '/admin/live',
      summary: 'Server-sent events: `now`, the node whenever it changes, and `event` of every service here.',
      responses: { 200: { description: 'Events until the client leaves.', mediaType: 'text/event-stream' } },
      limits: { stream: true },
      handler: (context) => live.stream(context),
    }),
  ]
}

function sessionRoutes({ sessions }: ConsoleParts): RouteTable {
  const refusals = { cross_site: 403 } as const
  return [
    route({
      ...inline,
      method: 'POST',
      path: '/console/session',
      summary: 'Signs in to the console with a code or a token.',
      body: z.strictObject({ credential: z.string().min(1).max(CREDENTIAL_MAX) }),
      responses: { 201: { description: 'The session.', schema: nodeAnswers.openedSession } },
      errors: {
        ...refusals,
        code_unknown: 401,
        code_used: 401,
        code_expired: 401,
        token_refused: 401,
        tls_required: 403,
        too_many_tries: 429,
      },
      handler: (context) => {
        const { facts, proof, cookie } = sessions.signIn(context.body.credential, context)
        return json(201, { ...facts, proof }, ['Set-Cookie', cookie, 'Cache-Control', 'no-store'])
      },
    }),
    route({
      ...inline,
      method: 'GET',
      path: '/console/session',
      summary: 'The session of this page.',
      responses: { 200: { description: 'The session.', schema: nodeAnswers.currentSession } },
      errors: { ...refusals, no_session: 401 },
      handler: (context) => json(200, sessions.facts(sessions.of(context)), ['Cache-Control', 'no-store']),
    }),
    route({
      ...inline,
      method: 'DELETE',
      path: '/console/session',
      summary: 'Signs out.',
      responses: { 204: { description: 'Signed out.' } },
      errors: { ...refusals, no_session: 401 },
      handler: (context) => {
        sessions.revoke(sessions.of(context).id)
        return empty(204)
      },
    }),
  ]
}

function adminRoutes({ sessions, url }: ConsoleParts): RouteTable {
  return [
    route({
      ...admin,
      method: 'POST',
      path: '/admin/console/code',
      summary: 'Makes a code that signs in to the console once.',
      responses: { 201: { description: 'The code, and where to use it.', schema: nodeAnswers.signInCode } },
      handler: () => {
        const { code, expiresInS } = sessions.mintCode()
        return json(201, { code, expires_in_s: expiresInS, url: url() }, ['Cache-Control', 'no-store'])
      },
    }),
    route({
      ...admin,
      method: 'GET',
      path: '/admin/console/sessions',
      summary: 'Every session of the console.',
      responses: { 200: { description: 'The sessions, oldest first.', schema: nodeAnswers.sessions } },
      handler: () => json(200, sessions.list()),
    }),
    route({
      ...admin,
      method: 'POST',
      path: '/admin/console/sessions/:id/revoke',
      summary: 'Ends a session.',
      params: z.strictObject({ id: z.string().regex(/^[0-9a-f]{12}$/, 'must be the id of a session') }),
      responses: { 204: { description: 'Ended.' } },
      errors: { no_session: 404 },
      handler: ({ params: { id } }) => {
        sessions.revoke(id)
        return empty(204)
      },
    }),
  ]
}

function forwardRoutes({ sessions, target }: ConsoleParts): RouteTable {
  const params = z.strictObject({ service: z.enum(AUDIENCES), '*': z.string() })
  const responses = { 200: { description: 'What the service answers.', mediaType: '*/*' } }
  const errors = { cross_site: 403, no_session: 401, no_such_service: 404 } as const
  const handler = async (context: RequestContext<z.output<typeof params>, unknown, unknown>) => {
    const { service } = context.params
    const { bearer } = sessions.of(context)
    const path = context.path.slice(`/svc/${service}`.length)
    return await forward(context, path, bearer, target(service))
  }
  return METHODS.map((method) => {
    const row = {
      ...inline,
      method,
      path: '/svc/:service/*',
      summary: 'A route of that service, for the console.',
      params,
      responses,
      errors,
      handler,
    }
    if (method === 'GET') return route({ ...row, limits: { stream: true } })
    return route({ ...row, body: 'bytes', limits: { stream: true, streamBytes: Number.MAX_SAFE_INTEGER } })
  })
}
