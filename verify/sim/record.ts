/** What campaigns came to, in docs/simulation.md: a row for each, newest last. */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import type { Summary } from './report.ts'

const RECORD = new URL('../../docs/simulation.md', import.meta.url)

/** Adds the row of a campaign over these seeds. */
export function recordCampaign(seeds: string, { line, matrix }: Summary, failed: readonly number[]): void {
  const tree = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: import.meta.dirname, encoding: 'utf8' })
  const date = new Date().toISOString().slice(0, 10)
  const cells = [date, tree.trim(), seeds, failed.join(', ') || 'none', matrix.zeros().join(', ') || 'none', line]
  writeFileSync(RECORD, `${readFileSync(RECORD, 'utf8').trimEnd()}\n| ${cells.join(' | ')} |\n`)
}
