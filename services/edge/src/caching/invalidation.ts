/** What an unsafe request makes invalid (RFC 9111 §4.4). */
import type { Headers } from './stored-response.ts'

/**
 * The URLs whose stored responses go: the target, and what `Location` and `Content-Location` name on the same origin.
 * None after an answer that is an error.
 */
export function invalidatedBy(target: URL, status: number, headers: Headers): readonly URL[] {
  if (status < 200 || status >= 400) return []
  const named = [headers['location'], headers['content-location']].flatMap((value) => {
    const url = value === undefined ? null : URL.parse(value, target)
    return url !== null && url.origin === target.origin ? [url] : []
  })
  return [target, ...named]
}
