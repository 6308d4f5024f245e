/**
 * Every field of every answer a peer gives, told wrong. A lie takes the honest answer, if it needs one, and gives another.
 *
 *     claims: copies, deletes, versions, owners, names      bytes: chunks, manifests, facts      promises: writes
 *     records: forged, replayed                             shape: endless, slow, torn, not what was asked for
 */
import { type LiarMemory, statementIn } from './liar-memory.ts'
import {
  addressIn,
  jsonAnswer,
  octetsAnswer,
  type PeerAnswer,
  type PeerRequest,
  type PeerRoute,
  problemAnswer,
  wholeBody,
} from './message.ts'

export interface Asked {
  readonly request: PeerRequest
  readonly route: PeerRoute
  readonly honest: () => Promise<PeerAnswer>
  readonly memory: LiarMemory
}

export interface Lie {
  readonly about: readonly PeerRoute[] | 'all'
  readonly answer: (asked: Asked) => Promise<PeerAnswer> | PeerAnswer
}

type Fields = Record<string, unknown>

const HUGE = Number.MAX_SAFE_INTEGER
const WRITES = ['put', 'commit', 'put-chunks', 'missing'] as const
const MIB = 1024 * 1024

function idsIn({ request }: Asked): string[] {
  const { ids = [] } = JSON.parse(Buffer.from(request.body).toString() || '{}') as { ids?: string[] }
  return ids
}

/** The honest answer with its fields changed; an error stays one. */
function edited(about: readonly PeerRoute[], edit: (fields: Fields, asked: Asked) => Fields): Lie {
  return {
    about,
    answer: async (asked) => {
      const answer = await asked.honest()
      if (answer.status >= 400) return answer
      const fields = JSON.parse((await wholeBody(answer.body)).toString()) as Fields
      return jsonAnswer(edit(fields, asked), answer.status)
    },
  }
}

/** What it says of each object it is asked about, given what the honest node says. */
function claims(edit: (row: Fields, id: string, asked: Asked) => Fields): Lie {
  return edited(['known'], (fields, asked) => {
    const ids = idsIn(asked)
    const rows = Array.isArray(fields['copies']) ? (fields['copies'] as Fields[]) : []
    return { ...fields, copies: rows.map((row, at) => edit(row, ids[at] ?? '', asked)) }
  })
}

/** A version higher than this one, in whatever form versions have: the first number in it is higher. */
function higher(version: unknown, by: number): unknown {
  if (typeof version === 'number') return Math.min(HUGE, version + by)
  if (typeof version === 'string')
    return version.replace(/\d+/, (digits) => String(Math.min(HUGE, Number(digits) + by)))
  if (Array.isArray(version)) return [higher(version[0], by), ...(version as unknown[]).slice(1)]
  if (typeof version === 'object' && version !== null && 'epoch' in version)
    return { ...version, epoch: higher(version.epoch, by) }
  return 1 + by
}

/** A copy of this object with a version, whether there is one or not. */
function claimed(row: Fields, id: string, { memory }: Asked): Fields {
  if (row['tag'] === 'object') return row
  const sent = memory.sent.get(id)
  const version = row['version'] ?? (sent === undefined || sent === '' ? 1 : asVersion(sent))
  return { ...row, tag: 'object', version, proved: true }
}

function asVersion(text: string): unknown {
  return /^\d+$/.test(text) ? Number(text) : text
}

/** Says that it took what it was sent, and keeps nothing. */
function dropped({ route, request }: Asked): PeerAnswer {
  if (route === 'missing') return jsonAnswer({ missing: [], upload: 'u' })
  if (route === 'put-chunks') return jsonAnswer({ chunks: 1, new: 1 })
  return jsonAnswer({ address: addressIn(request), size: 1, new: true }, 201)
}

function gone(): PeerAnswer {
  return { status: 204, headers: {}, body: new Uint8Array(0) }
}

async function flipped(honest: () => Promise<PeerAnswer>, at: number): Promise<PeerAnswer> {
  const answer = await honest()
  if (answer.status >= 400) return answer
  const body = await wholeBody(answer.body)
  const place = Math.min(at, body.length - 1)
  body[place] = (body[place] ?? 0) ^ 1
  return { ...answer, body }
}

async function* endless(): AsyncGenerator<Uint8Array> {
  const part = Buffer.alloc(64 * 1024, ' ')
  for (;;) yield await Promise.resolve(part)
}

async function* trickle(bytes: Uint8Array, pause: LiarMemory['pause']): AsyncGenerator<Uint8Array> {
  for (const byte of bytes) {
    await pause(500)
    yield Uint8Array.of(byte)
  }
}

/** A record in the answer with one bit changed, or another one in its place. */
function records(change: (text: string, memory: LiarMemory) => string): Lie {
  const walk = (value: unknown, memory: LiarMemory): unknown => {
    if (typeof value === 'string') return statementIn(value) === undefined ? value : change(value, memory)
    if (Array.isArray(value)) return value.map((each) => walk(each, memory))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, walk(each, memory)]))
  }
  return edited(['known', 'page', 'facts'], (fields, { memory }) => {
    memory.learn(fields)
    return walk(fields, memory) as Fields
  })
}

function forged(text: string): string {
  const bytes = Buffer.from(text, 'base64url')
  const last = bytes.length - 1
  bytes[last] = (bytes[last] ?? 0) ^ 1
  return bytes.toString('base64url')
}

function proofs(edit: (rows: unknown[], memory: LiarMemory) => unknown[]): Lie {
  return edited(['challenge'], (fields, { memory }) => {
    const rows = Array.isArray(fields['proofs']) ? (fields['proofs'] as unknown[]) : []
    return { ...fields, proofs: edit(rows, memory) }
  })
}

const NEWER = claims((row, id, asked) => {
  const copy = claimed(row, id, asked)
  return { ...copy, version: higher(copy['version'], 500) }
})

export const LIES = {
  // What it says it has.
  'copies without bytes': {
    about: ['known', ...WRITES],
    answer: async (asked) => {
      if (asked.route !== 'known') return dropped(asked)
      return await claims((row, id) => claimed(row, id, asked)).answer(asked)
    },
  },
  'copies of everything': claims(claimed),
  'proved without reading': claims((row) => (row['tag'] === 'object' ? { ...row, proved: true } : row)),
  'newer than everybody': NEWER,
  'a huge version': claims((row, id, asked) => {
    const copy = claimed(row, id, asked)
    return { ...copy, version: higher(copy['version'], HUGE) }
  }),
  'an old epoch': claims((row) => (row['tag'] === 'absent' ? row : { ...row, version: higher(row['version'], -HUGE) })),
  'versions that are none': claims((row) => ({ ...row, tag: 'object', version: -1.5 })),
  'a huge counter': edited(['known'], (fields) => ({ ...fields, version: higher(fields['version'], HUGE) })),
  'tombstones of everything': claims((row, id, asked) => {
    const { version } = claimed(row, id, asked)
    return { tag: 'tombstone', version: higher(version, 1_000_000) }
  }),
  'tombstones as new as the copies': claims((row, id, asked) => {
    return { tag: 'tombstone', version: claimed(row, id, asked)['version'] }
  }),
  'absent what it has': claims(() => ({ tag: 'absent' })),
  'only a part can be asked': claims(() => ({ tag: 'absent', partial: true })),
  'a kind that does not exist': claims((row) => ({ ...row, tag: 'ghost' })),
  'owners that do not exist': claims((row, id, asked) => ({ ...claimed(row, id, asked), owners: ['evil'] })),
  'a hundred thousand owners': claims((row, id, asked) => {
    return { ...claimed(row, id, asked), owners: Array.from({ length: 100_000 }, (_, at) => `evil-${at}`) }
  }),
  'no owners': claims((row) => Object.fromEntries(Object.entries(row).filter(([name]) => name !== 'owners'))),
  'the name of another node': edited(['known'], (fields) => ({ ...fields, node: 'somebody' })),
  'fewer rows than asked': edited(['known'], (fields) => ({ ...fields, copies: [] })),
  'rows in another order': edited(['known'], (fields) => {
    return { ...fields, copies: Array.isArray(fields['copies']) ? fields['copies'].toReversed() : [] }
  }),
  'come back empty': { about: ['known', 'put', 'commit'], answer: () => problemAnswer(409, 'rejoin_empty') },
  'a page of objects nobody has': edited(['page'], (fields) => {
    return { ...fields, copies: [{ address: `b3:${'e'.repeat(64)}`, tag: 'object', version: HUGE, proved: true }] }
  }),
  'an empty page': edited(['page'], (fields) => ({ ...fields, copies: [] })),

  // What it says about bytes, and the bytes.
  'facts of another size': edited(['facts'], (fields) => ({ ...fields, size: Number(fields['size']) + 1 })),
  'facts of another type': edited(['facts'], (fields) => ({ ...fields, type: 'text/html' })),
  'facts of another chunk size': edited(['facts'], (fields) => ({ ...fields, chunk_size: 1 })),
  'facts of a newer version': edited(['facts'], (f) => ({ ...f, version: higher(f['version'], 500) })),
  'facts with owners': edited(['facts'], (fields) => ({ ...fields, owners: ['evil'] })),
  'has it, and has no facts': {
    about: ['known', 'facts'],
    answer: async (asked) => {
      if (asked.route === 'facts') return problemAnswer(404, 'not_found')
      return await NEWER.answer(asked)
    },
  },
  'a manifest with a byte changed': {
    about: ['manifest'],
    answer: async ({ honest }) => await flipped(honest, 40),
  },
  'no manifest': { about: ['manifest'], answer: () => problemAnswer(404, 'not_found') },
  'one chunk only': { about: ['manifest'], answer: () => problemAnswer(409, 'single_chunk') },
  'chunks of other bytes': { about: ['chunk'], answer: async ({ honest }) => await flipped(honest, 9) },
  'short chunks': {
    about: ['chunk'],
    answer: async ({ honest }) => {
      const answer = await honest()
      return answer.status >= 400 ? answer : octetsAnswer((await wholeBody(answer.body)).subarray(0, 10))
    },
  },
  'no bytes': { about: ['chunk'], answer: () => octetsAnswer(new Uint8Array(0)) },
  'no chunks': { about: ['chunk'], answer: () => problemAnswer(404, 'not_found') },
  'endless chunks': { about: ['chunk'], answer: () => octetsAnswer(endless()) },
  'proofs that are made up': proofs((rows) => rows.map(() => 'ab'.repeat(32))),
  'proofs of an earlier challenge': proofs((rows, { proofs: earlier }) => {
    const said = rows.map((row, at) => earlier[at] ?? row)
    for (const row of rows) if (typeof row === 'string' && earlier.length < 64) earlier.push(row)
    return said
  }),
  'no proofs': proofs(() => []),
  'every copy damaged': proofs((rows) => rows.map(() => 'damaged')),
  'every copy absent': proofs((rows) => rows.map(() => 'absent')),
  'no challenges': { about: ['challenge'], answer: () => problemAnswer(404, 'not_found') },
  'busy with every challenge': { about: ['challenge'], answer: () => problemAnswer(503, 'drive_failed') },

  // What it promises.
  'takes nothing it says it took': { about: WRITES, answer: dropped },
  'lacks nothing': { about: ['missing'], answer: dropped },
  'lacks everything': { about: ['missing'], answer: (asked) => jsonAnswer({ missing: idsIn(asked), upload: 'u' }) },
  'knows newer than every put': {
    about: ['put', 'commit'],
    answer: () => problemAnswer(409, 'newer_version', { version: HUGE }),
  },
  'refuses every put': { about: ['put', 'commit'], answer: () => problemAnswer(400, 'bad_request') },
  'deletes nothing it says it deleted': { about: ['remove'], answer: gone },
  'holds nothing it says it holds': { about: ['hold'], answer: gone },
  'releases nothing it says it released': { about: ['release'], answer: gone },

  // Records of others.
  'forged records': records(forged),
  'replayed records': records((text, { statements }) => {
    const [other] = statements.filter(({ bytes }) => Buffer.from(bytes).toString('base64url') !== text)
    return other === undefined ? text : Buffer.from(other.bytes).toString('base64url')
  }),

  // The shape of an answer.
  'an endless answer': {
    about: ['known', 'page', 'facts', 'missing', 'challenge'],
    answer: () => octetsAnswer(endless()),
  },
  'a slow answer': {
    about: 'all',
    answer: async ({ honest, memory }) => {
      const answer = await honest()
      return { ...answer, headers: {}, body: trickle(await wholeBody(answer.body), memory.pause) }
    },
  },
  'not JSON': {
    about: ['known', 'page', 'facts', 'missing', 'challenge'],
    answer: () => octetsAnswer(Buffer.from('<html>')),
  },
  'a hundred thousand brackets': {
    about: ['known', 'page', 'facts', 'missing', 'challenge'],
    answer: () => octetsAnswer(Buffer.from('['.repeat(100_000))),
  },
  'three megabytes of text': edited(['known'], (fields) => ({ ...fields, more: 'x'.repeat(3 * MIB) })),
  'somewhere else': {
    about: 'all',
    answer: () => ({ status: 307, headers: { location: 'http://127.0.0.1:9/' }, body: new Uint8Array(0) }),
  },
  'no answer but an error': { about: 'all', answer: () => problemAnswer(500, 'internal') },
} as const satisfies Readonly<Record<string, Lie>>

export type LieName = keyof typeof LIES

export const LIE_NAMES = Object.keys(LIES) as LieName[]
