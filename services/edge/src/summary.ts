import type { EdgeParts } from './parts.ts'

/** One line: what it serves, and how much it keeps. */
export function summaryOf({ config, cas, packTable }: EdgeParts): string {
  const { mode, routes, sites } = config()
  const { entries, bytes } = cas.facts()
  const counts = `${Object.keys(routes).length} upstreams · ${packTable.count} packs · ${Object.keys(sites).length} sites`
  return `${mode} · ${counts} · ${entries} responses, ${Math.round(bytes / 1e6)} MB cached`
}
