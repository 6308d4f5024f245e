/** A registry served by one spec: HEAD, who approved what, and what each name means. */
import type { SequentialSpec } from './checker.ts'

export type RegistryCall =
  | { readonly tag: 'head' }
  | { readonly tag: 'name'; readonly name: string }
  /** `meaning` is new each time; `before` is what the proposer found. */
  | {
      readonly tag: 'propose'
      readonly proposal: string
      readonly name: string
      readonly before: string
      readonly meaning: string
    }
  | { readonly tag: 'approve'; readonly proposal: string; readonly signer: string }
  | { readonly tag: 'commit'; readonly proposal: string }

/** What was answered: a version and its hash, a meaning, that it was done, or the code of a refusal. */
export type RegistryResult = string

interface Open {
  readonly name: string
  readonly before: string
  readonly meaning: string
  readonly approvals: readonly string[]
}

interface RegistryState {
  readonly version: number
  readonly head: string
  readonly open: Readonly<Record<string, Open>>
  readonly committed: Readonly<Record<string, string>>
  readonly names: Readonly<Record<string, string>>
}

export const NOTHING = 'nothing'
const QUORUM = 2

export function headText({ version, hash }: { readonly version: number; readonly hash: string }): string {
  return `${version} ${hash}`
}

/** Of a registry that has just begun with this HEAD. */
export function registrySpec(genesis: string): SequentialSpec<RegistryState, RegistryCall, RegistryResult> {
  return {
    initial: { version: 0, head: genesis, open: {}, committed: {}, names: {} },
    serve,
    // Nothing that others do is answered otherwise because a proposal was there earlier.
    isEager: ({ tag }) => tag === 'propose',
    key: ({ head, open, names }) => {
      const counts = Object.entries(open).map(([proposal, { approvals }]) => `${proposal} ${approvals.length}`)
      return `${head} ${counts.join()} ${Object.entries(names).join()}`
    },
  }
}

function serve(state: RegistryState, call: RegistryCall, result: RegistryResult): RegistryState | undefined {
  switch (call.tag) {
    case 'head':
      return result === state.head ? state : undefined
    case 'name':
      return result === (state.names[call.name] ?? NOTHING) ? state : undefined
    case 'propose': {
      const { proposal, name, before, meaning } = call
      return { ...state, open: { ...state.open, [proposal]: { name, before, meaning, approvals: [] } } }
    }
    case 'approve':
      return approve(state, call.proposal, call.signer, result)
    case 'commit':
      return commit(state, call.proposal, result)
  }
}

function approve(state: RegistryState, proposal: string, signer: string, result: string): RegistryState | undefined {
  const open = state.open[proposal]
  if (open === undefined) return undefined
  if (state.committed[proposal] !== undefined) return result === 'AlreadyCommitted' ? state : undefined
  if (open.approvals.includes(signer)) return result === 'DuplicateApproval' ? state : undefined
  const approvals = [...open.approvals, signer]
  return result === 'done' ? { ...state, open: { ...state.open, [proposal]: { ...open, approvals } } } : undefined
}

function commit(state: RegistryState, proposal: string, result: string): RegistryState | undefined {
  const done = state.committed[proposal]
  if (done !== undefined) return result === done ? state : undefined
  const open = state.open[proposal]
  if (open === undefined) return undefined
  if (open.approvals.length < QUORUM) return result === 'QuorumFailed' ? state : undefined
  if ((state.names[open.name] ?? NOTHING) !== open.before) return result === 'ChainMismatch' ? state : undefined
  const version = state.version + 1
  if (Number(result.split(' ')[0]) !== version) return undefined
  return {
    version,
    head: result,
    open: state.open,
    committed: { ...state.committed, [proposal]: result },
    names: { ...state.names, [open.name]: open.meaning },
  }
}
