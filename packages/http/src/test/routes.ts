/** Routes that show every way a request can go. */
import { z } from 'zod'
import { type Route, route } from '../pipeline/route.ts'
import { type IngressRequest, json } from '../response/message.ts'
import { HELLO } from './fixture.ts'

export const ECHO: Route = route({
  method: 'POST',
  path: '/echo',
  lane: 'inline',
  summary: 'Sends the body back.',
  body: 'bytes',
  responses: { 200: { description: 'The body.' } },
  handler: ({ body }) => ({ status: 200, headers: [], body }),
})

export const NOTE: Route = route({
  method: 'PUT',
  path: '/notes/:name',
  lane: 'inline',
  summary: 'Takes a note.',
  params: z.strictObject({ name: z.string().max(8) }),
  query: z.strictObject({ pin: z.enum(['yes', 'no']).optional() }),
  body: z.strictObject({ text: z.string() }),
  responses: { 201: { description: 'Taken.' } },
  handler: ({ params, query, body }) => json(201, { name: params.name, pin: query.pin ?? 'no', text: body.text }),
})

export const FILES: Route = route({
  method: 'GET',
  path: '/files/*',
  lane: 'inline',
  summary: 'A file.',
  responses: { 200: { description: 'The file.' } },
  handler: ({ params, host }) => json(200, { path: params['*'], host }),
})

const FAILING: Route = route({
  method: 'GET',
  path: '/failing',
  lane: 'inline',
  summary: 'Fails.',
  responses: {},
  handler: () => {
    throw new Error('the secret is 42')
  },
})

export const UPLOAD: Route = route({
  method: 'POST',
  path: '/upload',
  lane: 'inline',
  summary: 'Counts what comes.',
  body: 'bytes',
  limits: { stream: ({ queryText }) => queryText === 'stream', streamBytes: 4 * 1024 * 1024 },
  responses: { 200: { description: 'How much.' } },
  handler: async ({ stream, body }) => {
    let bytes = body.length
    for await (const chunk of stream ?? []) bytes += chunk.length
    return json(200, { bytes, streamed: stream !== undefined })
  },
})

export const ROUTES: readonly Route[] = [HELLO, ECHO, NOTE, FILES, FAILING, UPLOAD]

export const HOST: readonly string[] = ['Host', 'localhost']

export const post = (
  target: string,
  body: AsyncIterable<Uint8Array>,
  ...headers: string[]
): Partial<IngressRequest> => ({ method: 'POST', target, headers: [...HOST, ...headers], body })

export const zeros = (bytes: number): Uint8Array => new Uint8Array(bytes)
