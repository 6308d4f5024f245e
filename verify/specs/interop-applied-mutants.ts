import type { Mutant } from '../model/mutant.ts'

const file = 'InteropApplied.tla'

/** One line of the specification each, and what no longer holds without it. */
export const INTEROP_APPLIED_MUTANTS: readonly Mutant[] = [
  {
    name: 'a second sender does not wait for the first',
    file,
    find: '/\\ ~UnderWay(webhook) \\* the others wait for what becomes of the first',
    replace: '/\\ TRUE',
    expect: 'AppliedOnce',
  },
  {
    name: 'told before the record is synced',
    file,
    find: 'sender\' = [sender EXCEPT ![request] = "written"]',
    replace: 'sender\' = [sender EXCEPT ![request] = "known"]',
    expect: 'ToldIsDurable',
  },
  {
    name: 'the key is not in the record',
    file,
    find: '[kind |-> "accepted", key |-> request[2],',
    replace: '[kind |-> "accepted", key |-> "",',
    expect: 'AppliedOnce',
  },
  {
    name: 'the record before the body',
    file,
    find: "bodies' = bodies \\cup {request[2]} \\* durable before the record that names it",
    replace: "bodies' = bodies",
    expect: 'BodyFirst',
  },
]
