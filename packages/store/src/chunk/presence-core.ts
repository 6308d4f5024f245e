/**
 * Whether something exists, while writes about it are under way.
 *
 *     in the index   nothing under way   a put under way   a removal under way
 *     ------------   -----------------   ---------------   -------------------
 *     no             absent: write       join it           absent: write
 *     yes            present             join it           going: write it again, after the removal
 *
 * What is not yet durable does not exist: its caller joins the write that is under way and shares its fate.
 */

export interface UnderWay<Token> {
  readonly tag: 'put' | 'removal'
  readonly token: Token
}

/** The newest write under way for each id. */
export type Presence<Token> = Map<string, UnderWay<Token>>

export type PutDecision<Token> =
  | { readonly tag: 'present' }
  | { readonly tag: 'join'; readonly token: Token }
  | { readonly tag: 'write' }

export function decidePut<Token>(presence: Presence<Token>, id: string, isIndexed: boolean): PutDecision<Token> {
  const underWay = presence.get(id)
  if (underWay === undefined) return isIndexed ? { tag: 'present' } : { tag: 'write' }
  return underWay.tag === 'put' ? { tag: 'join', token: underWay.token } : { tag: 'write' }
}

export type RemovalDecision<Token> =
  | { readonly tag: 'absent' }
  | { readonly tag: 'join'; readonly token: Token }
  | { readonly tag: 'write' }

/** A put under way is removed after it: the log keeps their order. */
export function decideRemoval<Token>(
  presence: Presence<Token>,
  id: string,
  isIndexed: boolean,
): RemovalDecision<Token> {
  const underWay = presence.get(id)
  if (underWay === undefined) return isIndexed ? { tag: 'write' } : { tag: 'absent' }
  return underWay.tag === 'put' ? { tag: 'write' } : { tag: 'join', token: underWay.token }
}

/**
 * Durable, and not about to go. A put under way says no as well: what is indexed may then be what a removal ahead of
 * it in line takes away.
 */
export function exists<Token>(presence: Presence<Token>, id: string, isIndexed: boolean): boolean {
  return isIndexed && !presence.has(id)
}

export function begin<Token>(presence: Presence<Token>, id: string, underWay: UnderWay<Token>): void {
  presence.set(id, underWay)
}

/** The write ended, well or badly; a newer one for the same id goes on. */
export function settle<Token>(presence: Presence<Token>, id: string, token: Token): void {
  if (presence.get(id)?.token === token) presence.delete(id)
}
