import type { Address } from '@cairn/wire'
import type { HedgeReport } from './hedged-lookup.ts'
import { keyText } from './key.ts'
import type { NamesVersion } from './name-source.ts'
import type { ProviderSet } from './provider-set.ts'

/** What is looked up, cached and shared: what a name means, or who holds an address. */
export type Question =
  /** With `from`, for one asker: the proof has to continue the tree of that size. */
  | { readonly tag: 'name'; readonly name: string; readonly from?: number | undefined }
  /** `passedOn` by another index, which asks the others itself. */
  | { readonly tag: 'providers'; readonly cid: Address; readonly passedOn?: boolean }

export type Finding =
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
      readonly providers: ProviderSet
      readonly digest: Address
      /** From what this node holds and was told, or from others. */
      readonly source: 'db' | 'dht'
      /** Absent where nobody was asked. */
      readonly hedge: HedgeReport | undefined
    }
  /** It is known that there is nothing. */
  | { readonly tag: 'nothing' }

/** A finding as the cache keeps it. */
export interface Cached {
  readonly finding: Finding
  /** What `namesVersion` was when it was found. */
  readonly names: NamesVersion
}

export const NOTHING: Finding = { tag: 'nothing' }

export function questionKey(question: Question): string {
  if (question.tag === 'providers')
    return `${keyText({ kind: 'cid', cid: question.cid })}${question.passedOn === true ? ' passed on' : ''}`
  const { name, from } = question
  return `${keyText({ kind: 'name', name })}${from === undefined ? '' : ` from ${from}`}`
}
