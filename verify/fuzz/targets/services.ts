/**
 * Whole requests at whole nodes, on the virtual platform: whatever a client sends, the answer is one the API tells of.
 *
 *     storage PUT /o/b3:…?hold=me          the service, the method, the target
 *     content-type: application/json       fields, if any
 *                                          an empty line, then the body
 */
import { CairnError } from '@cairn/kernel'
import { canonicalJson, type JsonValue, parseJson } from '@cairn/wire'
import { SERVICE_NAMES } from '../../simulator/answer.ts'
import { FuzzCluster, NOWHERE, requestOf, STORED_ID } from '../fuzz-cluster.ts'
import type { FuzzTarget } from '../fuzzer.ts'
import { linesAndBody } from '../inputs.ts'
import type { Shape } from '../reshape.ts'

/** What requests leave behind fills the memory: from time to time everything begins anew. */
const REQUESTS_MAX = 5000

/** The line of the request by its words, the fields by their lines, and what the body spells. */
const REQUEST_SHAPE: Shape = {
  read: (input) => {
    const { lines, body } = linesAndBody(input)
    return { line: lines[0]?.split(/(?<=[ /?&=])/), fields: lines.slice(1), body: parseJson(body) }
  },
  write: (value) => {
    if (!isRequest(value)) throw new CairnError('Malformed', 'This is not a request.')
    const head = [value.line.map(String).join(''), ...value.fields.map(String)].join('\n')
    return Buffer.concat([Buffer.from(`${head}\n\n`, 'latin1'), canonicalJson(value.body)])
  },
}

interface Spelled {
  readonly line: readonly unknown[]
  readonly fields: readonly unknown[]
  readonly body: JsonValue
}

function isRequest(value: unknown): value is Spelled {
  if (typeof value !== 'object' || value === null || !('body' in value)) return false
  return 'line' in value && Array.isArray(value.line) && 'fields' in value && Array.isArray(value.fields)
}

let fuzzCluster = await FuzzCluster.open()

const requests: FuzzTarget = {
  name: 'requests',
  covers: SERVICE_NAMES.map((service) => `services/${service}/src/`),
  seeds: fuzzCluster.seeds(),
  words: [
    ...SERVICE_NAMES,
    STORED_ID,
    NOWHERE,
    'GET ',
    'PUT ',
    'POST ',
    'DELETE ',
    'HEAD ',
    '?limit=',
    '?cursor=',
    '&',
    '%2e%2e/',
    '\n\n',
    'range: bytes=0-',
    'if-none-match: *',
    'request-timeout: 1ms',
    'idempotency-key: k',
    'content-encoding: gzip',
    'application/cbor',
    '{"a":',
    '[',
  ],
  bytesMax: 2000,
  shape: REQUEST_SHAPE,
  run: async (input) => {
    const request = requestOf(input)
    if (request === undefined) return
    if (fuzzCluster.requests >= REQUESTS_MAX) {
      await fuzzCluster.close()
      const next = await FuzzCluster.open()
      fuzzCluster = next
    }
    await fuzzCluster.hold(request)
  },
  close: async () => await fuzzCluster.close(),
}

export const TARGETS: readonly FuzzTarget[] = [requests]
