/** Who tokens are for and what they may allow: two closed tables, the only source of these words. */

/** The services a token can be addressed to; each holds its own key. */
export const AUDIENCES = ['storage', 'index', 'registry', 'edge', 'interop', 'node'] as const
export type Audience = (typeof AUDIENCES)[number]

export const SCOPES = {
  'storage:write': 'Store objects, chunks and manifests.',
  'storage:delete': 'Drop an object.',
  'storage:hold': 'Hold and release system references.',
  'storage:peer': 'Exchange copies with another node: no delete without a signed statement.',
  'storage:admin': 'List objects, report durability, start repair and scrub.',
  'index:read': 'Resolve names and addresses where reads are closed.',
  'index:admin': 'Administer the index.',
  'index:pin': 'Pin and unpin entries.',
  'index:announce': 'Announce a provider.',
  'registry:propose': 'Open a proposal.',
  'registry:approve': 'Hand in an approval.',
  'registry:commit': 'Commit a proposal that has its quorum.',
  'registry:anchor': 'Append an audit head to the log.',
  'registry:admin': 'Administer the registry.',
  'edge:admin': 'Administer packs, routes and the edge cache.',
  'interop:put': 'Bring content in through /put.',
  'interop:admin': 'Administer providers and rules.',
  'mailbox:send': 'Put messages into a mailbox.',
  'mailbox:recv': 'Lease and acknowledge messages.',
  'mailbox:admin': 'See dead letters and replay them.',
  'audit:read': 'Read the audit trail.',
  'events:read': 'Follow the event stream.',
  'node:admin': 'Change a running node.',
} as const satisfies Record<string, string>

export type Scope = keyof typeof SCOPES

/** A scope that another one brings with it: peers of version 0.1 have tokens of an administrator. */
export const BROUGHT_BY: Readonly<Partial<Record<Scope, Scope>>> = { 'storage:peer': 'storage:admin' }

/** Every scope there is; only the admin token carries it. */
export const ANY_SCOPE = '*'

export function isScope(value: unknown): value is Scope {
  return typeof value === 'string' && Object.hasOwn(SCOPES, value)
}

export function isAudience(value: unknown): value is Audience {
  return AUDIENCES.some((audience) => audience === value)
}
