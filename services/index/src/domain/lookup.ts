import { LOOKUP_NAME } from '@cairn/api'
import { CairnError } from '@cairn/kernel'
import { type Address, parseAddress } from '@cairn/wire'
import type { HedgeReport } from './hedged-lookup.ts'
import type { KnownProviders } from './known-providers.ts'
import type { NamesVersion } from './name-source.ts'

/** What can be asked for. */
export type LookupKey =
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'cid'; readonly cid: Address }

const NAME_PREFIX = 'name:'

/** `name:…` or `b3:…`; the error says what is wrong with anything else. */
export function parseLookupKey(text: string): LookupKey {
  if (!text.startsWith(NAME_PREFIX)) return { kind: 'cid', cid: parseAddress(text) }
  const name = text.slice(NAME_PREFIX.length)
  // Wider than what the registry takes: a name that cannot be registered is unknown, not malformed.
  if (LOOKUP_NAME.test(name)) return { kind: 'name', name }
  const detail = 'A name has 1 to 253 of a-z 0-9 . _ @ -, beginning with a letter or digit: name:site@1.0.'
  throw new CairnError('Malformed', detail)
}

export function keyText(key: LookupKey): string {
  return key.kind === 'name' ? `${NAME_PREFIX}${key.name}` : key.cid
}

/** For logs and events: enough to recognise a key one knows, never the whole of it. */
export function keyHint(key: LookupKey): string {
  return key.kind === 'name' ? `${NAME_PREFIX}${key.name.slice(0, 24)}` : key.cid.slice(0, 15)
}

/** What is looked up, cached and shared: what a name means, or who holds an address. */
export type LookupQuestion =
  /** With `from`, for one asker: the proof has to continue the tree of that size. */
  | { readonly tag: 'name'; readonly name: string; readonly from?: number | undefined }
  /** `passedOn` by another index, which asks the others itself. */
  | { readonly tag: 'providers'; readonly cid: Address; readonly passedOn?: boolean }

export type LookupResult =
  | {
      readonly tag: 'name'
      readonly address: Address
      readonly source: 'registry' | 'db'
      /** Of the registry. */
      readonly version: number | undefined
      /** The proof file as text. */
      readonly proof: string | undefined
      /** How old the word was when it was found. */
      readonly freshnessMs: number
    }
  | {
      readonly tag: 'providers'
      readonly providers: KnownProviders
      readonly digest: Address
      /** From what this node holds and was told, or from others. */
      readonly source: 'db' | 'dht'
      /** Absent where nobody was asked. */
      readonly hedge: HedgeReport | undefined
    }
  /** It is known that there is nothing. */
  | { readonly tag: 'nothing' }

/** A finding as the cache keeps it. */
export interface CachedResult {
  readonly finding: LookupResult
  /** What `namesVersion` was when it was found. */
  readonly names: NamesVersion
}

export const NOTHING: LookupResult = { tag: 'nothing' }

export function questionKey(question: LookupQuestion): string {
  if (question.tag === 'providers')
    return `${keyText({ kind: 'cid', cid: question.cid })}${question.passedOn === true ? ' passed on' : ''}`
  const { name, from } = question
  return `${keyText({ kind: 'name', name })}${from === undefined ? '' : ` from ${from}`}`
}
