/** Which host is whose site. */
import type { EdgeConfig } from '../config.ts'

/** Site names by host: a plain label is a name below `localhost`. */
export function siteHosts({ sites }: EdgeConfig): ReadonlyMap<string, string> {
  const rows = Object.entries(sites).map(([label, name]) => {
    const host = label.toLowerCase()
    return [host.includes('.') ? host : `${host}.localhost`, name] as const
  })
  return new Map(rows)
}
