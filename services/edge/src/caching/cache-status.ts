/** What this cache did with a request, in the words of RFC 9211. */

export type CacheOutcome =
  | { readonly tag: 'hit'; readonly ttlMs: number }
  | {
      readonly tag: 'forwarded'
      /** Why the upstream was asked. */
      readonly why: 'uri-miss' | 'vary-miss' | 'stale' | 'request' | 'bypass' | 'method'
      readonly status?: number
      readonly stored?: boolean
      /** The answer of a fill that somebody else began. */
      readonly collapsed?: boolean
    }
  /** A stale response for an upstream that failed. */
  | { readonly tag: 'stood-in'; readonly ttlMs: number; readonly detail: string }

const CACHE_NAME = 'cairn-edge'

export function cacheStatus(outcome: CacheOutcome): string {
  switch (outcome.tag) {
    case 'hit':
      return `${CACHE_NAME}; hit; ttl=${wholeSeconds(outcome.ttlMs)}`
    case 'forwarded': {
      const status = outcome.status === undefined ? '' : `; fwd-status=${outcome.status}`
      const stored = outcome.stored === true ? '; stored' : ''
      return `${CACHE_NAME}; fwd=${outcome.why}${status}${stored}${outcome.collapsed === true ? '; collapsed' : ''}`
    }
    case 'stood-in':
      return `${CACHE_NAME}; hit; ttl=${wholeSeconds(outcome.ttlMs)}; detail=${outcome.detail}`
  }
}

function wholeSeconds(ms: number): number {
  return Math.floor(ms / 1000)
}
