import { spellCount } from '@cairn/wire'
import type { EdgeParts } from './parts.ts'

/** One line: what it serves, and how much it keeps. */
export function summaryOf({ config, cas, packTable }: EdgeParts): string {
  const { mode, routes, sites } = config()
  const { entries, bytes } = cas.facts()
  const counts = [
    spellCount(Object.keys(routes).length, 'upstream'),
    spellCount(packTable.count, 'pack'),
    spellCount(Object.keys(sites).length, 'site'),
  ].join(' · ')
  return `${mode} · ${counts} · ${spellCount(entries, 'response')}, ${Math.round(bytes / 1e6)} MB cached`
}
