/** Proposals, items and signer sets in words: what somebody reads before signing. */
import { type Item, isLive, missingFor, type Payload, type Quorum, type SignerSet } from '@cairn/names'
import type { CommandArguments } from './command.ts'

/** One line for each thing a payload changes. */
export function formatItems({ items }: Payload): string[] {
  return items.flatMap(formatItem)
}

function formatItem(item: Item): string[] {
  if (!isLive(item)) return [`${item.kind} ${item.id} is removed`]
  const replaces = item.prev === null ? `new${kindOf(item)}` : `replaces the item ${item.prev}`
  switch (item.kind) {
    case 'name': {
      const type = item.type === undefined ? '' : ` of type ${item.type}`
      return [`${item.id} means ${item.manifest}${type}  (${replaces})`]
    }
    case 'signer_set':
      return [`the signers are ${item.m} of ${item.signers.length}  (${replaces})`, ...formatSigners(item)]
    case 'service':
    case 'node':
    case 'region':
    case 'upstream': {
      const { kind, id, prev: _prev, ...rest } = item
      return [`${kind} ${id} is ${JSON.stringify(rest)}  (${replaces})`]
    }
  }
}

/** What a new name is, where the item says so. */
function kindOf(item: Item): string {
  if (item.kind !== 'name' || !isLive(item) || item.mutable === undefined) return ''
  return item.mutable ? ' channel' : ' release, for ever'
}

function formatSigners({ signers }: SignerSet): string[] {
  return signers.map(({ id, algo, key }) => `  ${id}  ${algo}  ${short(key)}`)
}

/** Who has approved is not asked twice; who is missing is named. */
export function describeQuorum(quorum: Quorum): string {
  return missingFor(quorum)
}

export function formatInstant(ms: number): string {
  return new Date(ms).toISOString()
}

/** Columns of two: `label  text`, further lines of a text below its first. */
export function formatRows(pairs: readonly (readonly [string, string | readonly string[]])[]): string {
  const width = Math.max(...pairs.map(([label]) => label.length))
  return pairs
    .map(([label, text]) => {
      const lines = typeof text === 'string' ? [text] : text
      return lines.map((line, index) => `${(index === 0 ? label : '').padEnd(width)}  ${line}\n`).join('')
    })
    .join('')
}

/** Keys of a thousand characters are told apart by their beginning. */
function short(key: string): string {
  return key.length <= 43 ? key : `${key.slice(0, 42)}…`
}

/** How to ask the same registry in the next command. */
export function connectionFlags(given: CommandArguments): string {
  return ['data', 'node', 'token-file']
    .flatMap((name) => {
      const value = given.text(name)
      return value === undefined ? [] : [` --${name} ${value}`]
    })
    .join('')
}
