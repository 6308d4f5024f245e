/**
 * A registry served by one spec, for histories in which answers were lost: HEAD, and which version says what of a name.
 *
 *     a proposal's first commit request ├───── its version is made somewhere here ─────┤ the first client told so
 *     every other time it was answered                    ├ repeat ┤
 *
 * Of each version it is known in the end which proposal it was. So one operation makes it, from the first request that
 * could have to the first answer that says so, which may never have come; and at any moment only one can be next.
 */
import type { SequentialSpec } from '../../linear/checker.ts'

export type RegistryCall =
  | { readonly tag: 'head' }
  | { readonly tag: 'name'; readonly name: string }
  /** What each name it changes is from then on. */
  | { readonly tag: 'commit'; readonly proposal: string; readonly changes: Readonly<Record<string, string>> }
  | { readonly tag: 'repeat'; readonly proposal: string }

interface RegistryState {
  readonly version: number
  readonly head: string
  readonly names: Readonly<Record<string, string>>
  readonly committed: Readonly<Record<string, string>>
}

/** What is answered about a name that means nothing. */
export const NOTHING = 'nothing'

export function headText({ version, hash }: { readonly version: number; readonly hash: string }): string {
  return `${version} ${hash}`
}

/** Of a registry whose HEAD is this and in which nothing is named. */
export function registrySpec(genesis: string): SequentialSpec<RegistryState, RegistryCall, string> {
  return {
    initial: { version: 0, head: genesis, names: {}, committed: {} },
    serve,
    isEager: () => false,
    // HEAD determines all the rest.
    key: ({ head }) => head,
  }
}

function serve(state: RegistryState, call: RegistryCall, result: string): RegistryState | undefined {
  switch (call.tag) {
    case 'head':
      return result === state.head ? state : undefined
    case 'name':
      return result === (state.names[call.name] ?? NOTHING) ? state : undefined
    case 'repeat':
      return result === state.committed[call.proposal] ? state : undefined
    case 'commit': {
      const version = state.version + 1
      if (Number(result.split(' ')[0]) !== version) return undefined
      const names = { ...state.names, ...call.changes }
      return { version, head: result, names, committed: { ...state.committed, [call.proposal]: result } }
    }
  }
}
