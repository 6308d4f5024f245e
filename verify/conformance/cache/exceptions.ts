/** Tests of http-cache-tests 0.4.5 that the edge does not pass, and why it should not, or cannot. */
const BY_HAND: Readonly<Record<string, string>> = {
  'age-parse-prefix':
    'Its name asks for stale, its code for fresh; the edge takes an Age that is not one number as old.',
  'heuristic-503-not_cached':
    'A 503 without a lifetime is asked again, up to three times; the test allows one request.',
  'heuristic-504-not_cached': 'As with 503.',
  'method-POST': 'A response to POST is never stored.',
  'conditional-lm-fresh-no-lm':
    'A response without Last-Modified that is newer than the date asked for was modified since.',
  'headers-store-Transfer-Encoding':
    'The origin sends a body without an end; the edge breaks it off after fill_timeout.',
  'other-authorization': 'Credentials are never sent to an upstream, which the test looks for.',
  'other-authorization-public': 'Credentials are never sent to an upstream.',
  'other-authorization-must-revalidate': 'Credentials are never sent to an upstream.',
  'other-authorization-smaxage': 'Credentials are never sent to an upstream.',
  'other-set-cookie': 'Set-Cookie is never handed on; the response itself is reused.',
  '304-etag-update-response-ETag': 'A 304 about another ETag is 502 etag_invalid: what it says belongs to other bytes.',
}

const BY_PREFIX: readonly (readonly [prefix: RegExp, why: string])[] = [
  [
    /^stale-close-/,
    'Nobody can pass it: the answer must come from an origin that closes without one. The edge answers 502.',
  ],
  [/Content-Security-Policy$/, 'The edge sets its own: what an upstream sends is sandboxed, whatever it asks for.'],
  [/Clear-Site-Data$/, 'It would speak for our origin, and is never handed on.'],
  [/Set-Cookie$/, 'Set-Cookie is never stored.'],
  [/^partial-store-partial-/, 'An upstream is asked for the whole; parts are served from it, never put together.'],
]

/** Why a test is not passed; nothing where nobody has said so yet. */
export function exceptionFor(id: string): string | undefined {
  return BY_HAND[id] ?? BY_PREFIX.find(([prefix]) => prefix.test(id))?.[1]
}
