/** `cairn diff A B`: what differs between two directories, computed here from trees that are proved. */
import type { TreeChange } from '@cairn/sdk'
import { spellCount } from '@cairn/wire'
import type { CommandHandler } from './command.ts'
import { resolveAddress } from './get.ts'
import { withStorage } from './storage.ts'
import { escapeControls } from './terminal-text.ts'

export const diff: CommandHandler = async (context) => {
  const [first = '', second = ''] = context.given.operands
  const before = await resolveAddress(context, first)
  const after = await resolveAddress(context, second)
  return await withStorage(context, async (cairn, signal) => {
    const changes = await cairn.diff(before.address, after.address, { signal })
    return {
      result: { before: before.address, after: after.address, changes: changes.map(changeResult) },
      data: formatChanges(changes)
        .map((line) => `${line}\n`)
        .join(''),
      message: summaryOf(changes),
      warnings: [...before.warnings, ...after.warnings],
    }
  })
}

export function changeResult({ path, before, after }: TreeChange) {
  return { path, change: kindOf(before, after), before: entryResult(before), after: entryResult(after) }
}

function entryResult(entry: TreeChange['before']) {
  if (entry === undefined) return null
  if (entry.kind === 'link') return { kind: entry.kind, target: entry.target }
  const isExecutable = entry.kind === 'file' && entry.executable === true
  return { kind: entry.kind, address: entry.id, executable: isExecutable }
}

/** One line for each change: `+` added, `-` removed, `~` changed, and what of it, where it is not the bytes alone. */
export function formatChanges(changes: readonly TreeChange[]): string[] {
  return changes.map(({ path, before, after }) => {
    const sign = { added: '+', removed: '-', changed: '~' }[kindOf(before, after)]
    const what = after === undefined ? [] : aboutOf(before, after)
    return `${sign} ${escapeControls(path === '' ? '(the file)' : path)}${what.length === 0 ? '' : `  (${what.join(', ')})`}`
  })
}

export function summaryOf(changes: readonly TreeChange[]): string {
  const count = (kind: string): number => changes.filter(({ before, after }) => kindOf(before, after) === kind).length
  if (changes.length === 0) return 'no file differs'
  return `${spellCount(changes.length, 'file')}: ${count('added')} added, ${count('removed')} removed, ${count('changed')} changed`
}

function kindOf(before: TreeChange['before'], after: TreeChange['after']): 'added' | 'removed' | 'changed' {
  if (before === undefined) return 'added'
  return after === undefined ? 'removed' : 'changed'
}

function aboutOf(before: TreeChange['before'], after: NonNullable<TreeChange['after']>): string[] {
  if (after.kind === 'link') return [`a link to ${escapeControls(after.target)}`]
  const isExecutable = after.kind === 'file' && after.executable === true
  const wasExecutable = before?.kind === 'file' && before.executable === true
  return [
    ...(before?.kind === 'link' ? ['a link no more'] : []),
    ...(isExecutable && !wasExecutable ? ['executable'] : []),
    ...(!isExecutable && wasExecutable ? ['executable no more'] : []),
  ]
}
