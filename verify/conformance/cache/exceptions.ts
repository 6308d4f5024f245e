/** Tests of http-cache-tests, of either edition, that the edge does not pass, and why it should not, or cannot. */
const BY_HAND: Readonly<Record<string, string>> = {
  'heuristic-503-not_cached':
    'Policy: a 503 or 504 without a lifetime is asked for again (max_retries 2); the test allows one request.',
  'heuristic-504-not_cached':
    'Policy: a 503 or 504 without a lifetime is asked for again (max_retries 2); the test allows one request.',
  'method-POST': 'Policy: a response to POST is never stored (RFC 9111 §3 allows it).',
  'conditional-lm-fresh-no-lm':
    'A response without Last-Modified counts as modified when it was made, which is after the date asked for.',
  'headers-store-Transfer-Encoding':
    'The origin sends a body without an end; the edge breaks it off after fill_timeout.',
  'other-authorization': 'Credentials are never sent to an upstream.',
  'other-authorization-public': 'Credentials are never sent to an upstream.',
  'other-authorization-must-revalidate': 'Credentials are never sent to an upstream.',
  'other-authorization-smaxage': 'Credentials are never sent to an upstream.',
  'other-set-cookie': 'Set-Cookie is never handed on; the response itself is reused.',
  '304-etag-update-response-ETag': 'A 304 about another ETag is 502 etag_invalid: what it says belongs to other bytes.',
}

const BY_PREFIX: readonly (readonly [prefix: RegExp, why: string])[] = [
  [
    /^stale-close-/,
    'No cache can pass it: the answer must come from an origin that closes without one. The edge answers 502.',
  ],
  [/Content-Security-Policy$/, 'The edge sets its own: what an upstream sends is sandboxed, whatever it asks for.'],
  [/Clear-Site-Data$/, 'It would speak for our origin, and is never handed on.'],
  [/Set-Cookie$/, 'Set-Cookie is never stored.'],
  [/^partial-store-partial-/, 'An upstream is asked for the whole; parts are served from it, never put together.'],
]

/** What editions ask for that later ones no longer do. */
const BY_EDITION: Readonly<Record<string, readonly [tests: RegExp, why: string]>> = {
  '0.4.5': [
    /^age-parse-/,
    'This edition asks for the opposite of later ones: an Age that is no number is ignored (RFC 9111 §5.1).',
  ],
}

/** Why a test of this edition is not passed; nothing where no reason is known yet. */
export function exceptionFor(id: string, edition: string): string | undefined {
  const [outdated, why] = BY_EDITION[edition] ?? []
  if (outdated?.test(id) === true) return why
  return BY_HAND[id] ?? BY_PREFIX.find(([prefix]) => prefix.test(id))?.[1]
}
