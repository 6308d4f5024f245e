/** A row of figures for each package in record.md, replaced by its next run; survivors are listed on the terminal. */
import { EXPLANATIONS } from './explanations.ts'
import type { Mutant } from './mutants.ts'
import type { Outcome } from './runner.ts'

/** A fault with what became of it; nothing when it was not tried. */
export interface Tried {
  readonly mutant: Mutant
  readonly status: Outcome['status'] | 'untried'
}

const ROWS =
  '| package | date | mutants | tried | killed | timed out | survived | not reached | score | explained | score without these |'
const RULE = '|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|'

/** Why nothing can tell this fault from the code as it is, where somebody has found that out. */
function explanationOf({ file, before, after }: Mutant): string | undefined {
  const isKnown = ([known, fault]: readonly [string, string]): boolean => known === before && fault === after
  return EXPLANATIONS.find((explanation) => explanation.file === file && explanation.faults.some(isKnown))?.why
}

/** A row of the table; scores are of what was tried. */
export function renderRow(name: string, date: string, all: readonly Tried[]): string {
  const tried = all.filter(({ status }) => status !== 'untried')
  const count = (...wanted: Tried['status'][]): number => tried.filter(({ status }) => wanted.includes(status)).length
  const found = count('killed', 'endless')
  const missed = tried.filter(isMissed)
  const explained = missed.filter(({ mutant }) => explanationOf(mutant) !== undefined).length
  const percent = (part: number, whole: number): string => `${((100 * part) / whole).toFixed(1)} %`
  const outcomes = [count('killed'), count('endless'), count('survived'), count('unreached')]
  const scores = [percent(found, tried.length), explained, percent(found, tried.length - explained)]
  return `| ${[name, date, all.length, tried.length, ...outcomes, ...scores].join(' | ')} |`
}

function isMissed({ status }: Tried): boolean {
  return status === 'survived' || status === 'unreached'
}

export function renderSurvivors(tried: readonly Tried[]): string {
  const code = (text: string): string => `\`${text.replaceAll('|', '\\|').replaceAll('`', 'ˋ')}\``
  const lines = tried.filter(isMissed).map(({ mutant, status }) => {
    const why = explanationOf(mutant) ?? (status === 'unreached' ? 'no test comes here' : '')
    return `| ${mutant.file.replace(/^packages\//, '')}:${mutant.line} | ${code(mutant.before)} | ${code(mutant.after)} | ${why} |`
  })
  return ['| where | is | becomes | why nothing can tell |', '|---|---|---|---|', ...lines].join('\n')
}

/** The record with the row of one package replaced, or added in its place. */
export function renderRecord(record: string, name: string, row: string): string {
  const rows = record.split('\n').filter((line) => /^\| [a-z]+ \| \d/.test(line) && !line.startsWith(`| ${name} |`))
  const introduction = record.slice(0, record.includes(ROWS) ? record.indexOf(ROWS) : undefined).trimEnd()
  return `${introduction}\n\n${[ROWS, RULE, ...[...rows, row].sort()].join('\n')}\n`
}
