/**
 * Conditional GET and If-Range against npm's `send` (and `fresh` inside it): 100 000 requests, every difference
 * explained by a section of RFC 9110.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import send from 'send'
import { evaluatePreconditions, formatHttpDate } from './preconditions.ts'
import { selectRange } from './range.ts'

interface Exchange {
  readonly ifMatch?: string
  readonly ifUnmodifiedSince?: string
  readonly ifNoneMatch?: string
  readonly ifModifiedSince?: string
  readonly range?: string
  readonly ifRange?: string
  readonly etag?: string
  readonly lastModified?: number
}

const SIZE = 100
const NOW_MS = Date.UTC(2026, 0, 1)

/** The status `send` would answer with; its pipeline is stopped where it would open the file. */
function oracle(exchange: Exchange): number {
  const requestHeaders = withoutUndefined({
    'if-match': exchange.ifMatch,
    'if-unmodified-since': exchange.ifUnmodifiedSince,
    'if-none-match': exchange.ifNoneMatch,
    'if-modified-since': exchange.ifModifiedSince,
    range: exchange.range,
    'if-range': exchange.ifRange,
  })
  const lastModified = exchange.lastModified === undefined ? undefined : formatHttpDate(exchange.lastModified)
  const headers = new Map(Object.entries(withoutUndefined({ etag: exchange.etag, 'last-modified': lastModified })))
  const response = {
    statusCode: 200,
    headersSent: false,
    getHeader: (name: string) => headers.get(name.toLowerCase()),
    setHeader: (name: string, value: string) => headers.set(name.toLowerCase(), value),
    removeHeader: (name: string) => headers.delete(name.toLowerCase()),
    end: () => undefined,
  }
  const options = { etag: false, lastModified: false, cacheControl: false }
  const stream = send({ method: 'GET', headers: requestHeaders } as never, '/file', options)
  Object.assign(stream, {
    res: response,
    stream: () => undefined,
    error: (status: number) => {
      response.statusCode = status
    },
  })
  stream.send('/file', { size: SIZE } as never)
  return response.statusCode
}

function withoutUndefined(record: Record<string, string | undefined>): Record<string, string> {
  const entries = Object.entries(record).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]]))
  return Object.fromEntries(entries) as Record<string, string>
}

function ours(exchange: Exchange): number {
  const { etag, lastModified, range, ifRange, ...conditions } = exchange
  const current = {
    ...(etag === undefined ? {} : { etag }),
    ...(lastModified === undefined ? {} : { lastModified }),
  }
  switch (evaluatePreconditions({ method: 'GET', ...conditions }, current, NOW_MS)) {
    case 'precondition-failed':
      return 412
    case 'not-modified':
      return 304
    case 'proceed':
      return { whole: 200, single: 206, multiple: 200, unsatisfiable: 416 }[
        selectRange({ method: 'GET', range, ifRange }, etag, SIZE).kind
      ]
  }
}

const TAG = String.raw`(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"`
const isTagList = (text: string): boolean =>
  new RegExp(`^[ \\t,]*${TAG}(?:[ \\t]*,[ \\t,]*(?:${TAG})?)*[ \\t]*$`).test(text)
const isHttpDate = (text: string): boolean =>
  /^(?:[SMTWF][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} |[A-Z][a-z]+day, \d\d-[A-Z][a-z]{2}-\d\d )\d\d:\d\d:\d\d GMT$|^[SMTWF][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$/.test(
    text,
  )

interface Difference {
  readonly section: string
  readonly why: string
  readonly applies: (exchange: Exchange) => boolean
}

const lists = (exchange: Exchange): string[] =>
  [exchange.ifMatch ?? '*', exchange.ifNoneMatch ?? '*'].filter((list) => list !== '*' && list !== '')
const dates = (exchange: Exchange): string[] =>
  [exchange.ifUnmodifiedSince, exchange.ifModifiedSince].filter((date) => date !== undefined)

const DIFFERENCES: readonly Difference[] = [
  {
    section: '13.1.1',
    why: 'If-Match compares strongly; the oracle lets a weak tag match',
    applies: ({ ifMatch, etag }) => ifMatch !== undefined && `${ifMatch} ${etag}`.includes('W/'),
  },
  {
    section: '13.1.1',
    why: 'If-Match: * holds for anything that exists; the oracle also wants a tag',
    applies: ({ ifMatch, etag }) => ifMatch?.trim() === '*' && etag === undefined,
  },
  {
    section: '8.8.3',
    why: 'a comma may stand inside a tag; the oracle splits there',
    applies: (exchange) => lists(exchange).some((list) => /"[^"]*,[^"]*"/.test(list)),
  },
  {
    section: '8.8.3',
    why: 'a list with anything but tags in it matches nothing; the oracle compares what it can',
    applies: (exchange) => lists(exchange).some((list) => !isTagList(list)),
  },
  {
    section: '5.6.3',
    why: 'tabs and spaces around a value are white space; the oracle keeps them',
    applies: (exchange) => lists(exchange).some((list) => /\t|^ *\* *$/.test(list)),
  },
  {
    section: '13.1.4',
    why: 'If-Unmodified-Since is ignored where there is no modification date; the oracle fails it',
    applies: ({ ifUnmodifiedSince, lastModified }) => ifUnmodifiedSince !== undefined && lastModified === undefined,
  },
  {
    section: '13.2.2',
    why: 'If-None-Match, even an unreadable one, makes If-Modified-Since ignored; the oracle forgets an empty one',
    applies: ({ ifNoneMatch, ifMatch }) => ifNoneMatch === '' || ifMatch === '',
  },
  {
    section: '5.6.7',
    why: 'only the three forms of HTTP date are dates; the oracle takes whatever Date.parse takes',
    applies: (exchange) => dates(exchange).some((date) => !isHttpDate(date)),
  },
  {
    section: '13.1.5',
    why: 'If-Range is one strong tag, compared whole; the oracle looks for the tag anywhere in it, weak or not',
    applies: ({ ifRange, etag }) => ifRange?.includes('"') === true && (ifRange !== etag || etag.startsWith('W/')),
  },
  {
    section: '8.8.2.2',
    why: 'a date is not a strong validator here, so If-Range with one does not hold; the oracle compares it',
    applies: ({ ifRange }) => ifRange !== undefined && !ifRange.includes('"'),
  },
]

const tag = fc.constantFrom('"a"', '"b"', 'W/"a"', 'W/"b"', '"b3:00"', '"a,b"', '""')
const tagList = fc.oneof(
  { weight: 8, arbitrary: fc.array(tag, { minLength: 1, maxLength: 3 }).map((tags) => tags.join(', ')) },
  { weight: 3, arbitrary: fc.constant('*') },
  {
    weight: 1,
    arbitrary: fc.constantFrom('', ' * ', 'a', '"a', '"a" "b"', '"a",,"b"', '*, "a"', '"a"\t', "'a'", ',"a"'),
  },
)
const seconds = fc.integer({ min: 784_111_770, max: 784_111_780 })
const date = fc.oneof(
  { weight: 8, arbitrary: seconds.map(formatHttpDate) },
  {
    weight: 1,
    arbitrary: seconds.map((at) =>
      formatHttpDate(at)
        .replace(/^.*?,/, 'Sunday,')
        .replace(/ (\w{3}) 19(\d\d)/, '-$1-$2'),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      'Sun Nov  6 08:49:35 1994',
      '1994-11-06',
      'soon',
      '0',
      'Sun, 06 Nov 1994 08:49:37',
      'Sun, 6 Nov 1994 08:49:37 GMT',
    ),
  },
)
const maybe = <Value>(arbitrary: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> =>
  fc.option(arbitrary, { nil: undefined, freq: 2 })

const exchanges = fc
  .record({
    ifMatch: maybe(tagList),
    ifUnmodifiedSince: maybe(date),
    ifNoneMatch: maybe(tagList),
    ifModifiedSince: maybe(date),
    range: maybe(fc.constantFrom('bytes=0-9', 'bytes=-5', 'bytes=100-', 'bytes=5-')),
    ifRange: maybe(fc.oneof({ weight: 3, arbitrary: tag }, { weight: 1, arbitrary: date })),
    etag: fc.option(tag, { nil: undefined, freq: 5 }),
    lastModified: maybe(seconds),
  })
  .map(
    (exchange) => Object.fromEntries(Object.entries(exchange).filter(([, value]) => value !== undefined)) as Exchange,
  )

test('100 000 conditional requests: ours and send agree, or a section of RFC 9110 says why not', (t) => {
  const counts = new Map<Difference, number>()
  let agreed = 0
  const check = (exchange: Exchange): void => {
    const [mine, theirs] = [ours(exchange), oracle(exchange)]
    if (mine === theirs) {
      agreed++
      return
    }
    const reasons = DIFFERENCES.filter((difference) => difference.applies(exchange))
    assert.ok(reasons.length > 0, `ours ${mine}, send ${theirs}: ${JSON.stringify(exchange)}`)
    // Only a difference with a single possible reason proves that the reason is needed.
    const [only] = reasons
    if (only !== undefined && reasons.length === 1) counts.set(only, (counts.get(only) ?? 0) + 1)
  }
  fc.assert(fc.property(exchanges, check), { numRuns: 100_000 })
  for (const difference of DIFFERENCES) {
    const count = counts.get(difference) ?? 0
    t.diagnostic(`RFC 9110 §${difference.section}, ${difference.why}: ${count}`)
    assert.ok(count > 0, `no request showed: ${difference.why}`)
  }
  t.diagnostic(`agreed on ${agreed} of 100 000`)
  assert.ok(agreed > 50_000, `agreed on only ${agreed}`)
})
