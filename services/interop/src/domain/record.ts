/**
 * What the journal of interop holds. A kind is one byte on the drive and never changes its meaning.
 *
 *     accepted     a webhook: its replay key, its messages and its audit line, all of them or none
 *     audit        lines of the audit alone: puts, duplicates, refusals
 *     mailbox      deliveries, acknowledgements, replays; messages written again
 *     replay-keys  keys written again, by format 0.1
 *     replay-runs  which files of keys count, and up to which record they speak for this journal
 *     replay-spaces  which providers and secrets share their keys
 *     audit-base   how far the audit was let go of
 *     anchor       how far the registry vouches for the audit
 *     adopted      from which point the audit goes on after lines of it were lost, and the line that says so
 */
import { type ChangeJson, decodeChange, encodeChange, type MailboxChange, type RollingRecord } from '@cairn/mailbox'
import type { Address } from '@cairn/wire'
import type { ReplaySpace } from '../replay/spaces-core.ts'

const KIND = {
  accepted: 1,
  audit: 2,
  mailbox: 3,
  'replay-keys': 4,
  'audit-base': 5,
  anchor: 6,
  adopted: 7,
  'replay-runs': 8,
  'replay-spaces': 9,
} as const

export interface ReplayKey {
  readonly key: string
  /** Wall clock, Unix milliseconds. */
  readonly until: number
}

export interface ChainPoint {
  readonly count: number
  readonly head: Address
}

export type InteropRecord =
  | {
      readonly tag: 'accepted'
      readonly replay: ReplayKey
      readonly changes: readonly MailboxChange[]
      readonly line: string
    }
  | { readonly tag: 'audit'; readonly lines: readonly string[] }
  | { readonly tag: 'mailbox'; readonly changes: readonly MailboxChange[] }
  | { readonly tag: 'replay-keys'; readonly keys: readonly ReplayKey[] }
  | { readonly tag: 'replay-runs'; readonly names: readonly string[]; readonly through: number }
  | { readonly tag: 'replay-spaces'; readonly spaces: readonly ReplaySpace[] }
  | { readonly tag: 'audit-base'; readonly point: ChainPoint }
  | { readonly tag: 'anchor'; readonly point: ChainPoint; readonly logIndex: number }
  | { readonly tag: 'adopted'; readonly point: ChainPoint; readonly line: string }

export function encodeRecord(record: InteropRecord): RollingRecord {
  return { kind: KIND[record.tag], payload: new TextEncoder().encode(JSON.stringify(fieldsOf(record))) }
}

function fieldsOf(record: InteropRecord): unknown {
  switch (record.tag) {
    case 'accepted':
      return [record.replay.key, record.replay.until, record.changes.map(encodeChange), record.line]
    case 'audit':
      return record.lines
    case 'mailbox':
      return record.changes.map(encodeChange)
    case 'replay-keys':
      return record.keys.map(({ key, until }) => [key, until])
    case 'replay-runs':
      return [record.names, record.through]
    case 'replay-spaces':
      return record.spaces.map(({ names, providers, secrets }) => [names, providers, secrets])
    case 'audit-base':
      return [record.point.count, record.point.head]
    case 'anchor':
      return [record.point.count, record.point.head, record.logIndex]
    case 'adopted':
      return [record.point.count, record.point.head, record.line]
  }
}

/** Sums were checked before: what lies here is what we wrote. */
export function decodeRecord({ kind, payload }: RollingRecord): InteropRecord {
  const json: unknown = JSON.parse(new TextDecoder().decode(payload))
  switch (kind) {
    case KIND.accepted: {
      const [key, until, changes, line] = json as [string, number, ChangeJson[], string]
      return { tag: 'accepted', replay: { key, until }, changes: changes.map(decodeChange), line }
    }
    case KIND.audit:
      return { tag: 'audit', lines: json as string[] }
    case KIND.mailbox:
      return { tag: 'mailbox', changes: (json as ChangeJson[]).map(decodeChange) }
    case KIND['replay-keys']:
      return { tag: 'replay-keys', keys: (json as [string, number][]).map(([key, until]) => ({ key, until })) }
    case KIND['replay-runs']: {
      const [names, through] = json as [string[], number]
      return { tag: 'replay-runs', names, through }
    }
    case KIND['replay-spaces']: {
      const spaces = (json as [string[], string[], string[]][]).map(([names, providers, secrets]) => {
        return { names, providers, secrets }
      })
      return { tag: 'replay-spaces', spaces }
    }
    case KIND['audit-base']: {
      const [count, head] = json as [number, Address]
      return { tag: 'audit-base', point: { count, head } }
    }
    case KIND.anchor: {
      const [count, head, logIndex] = json as [number, Address, number]
      return { tag: 'anchor', point: { count, head }, logIndex }
    }
    case KIND.adopted: {
      const [count, head, line] = json as [number, Address, string]
      return { tag: 'adopted', point: { count, head }, line }
    }
    default:
      throw new TypeError(`The journal has a record of the kind ${kind}, which this program does not know.`)
  }
}
