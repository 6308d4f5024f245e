/** `docs/acceptance.md`: a row for each case, with what it found in format 0.1 and what it finds now. */
import { readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { AcceptanceCase } from './case.ts'

const RECORD_PATH = join(dirname(fileURLToPath(import.meta.url)), '../../docs/acceptance.md')

export type Colour = 'green' | 'red'

export interface Row {
  readonly name: string
  readonly finding: string
  /** Of format 0.1, commit 15198c7. */
  readonly old: string
  readonly now: string
}

const HEAD = `# Acceptance

Cases of [verify/acceptance](../verify/acceptance/README.md), "15198c7" on the tree of format 0.1; "red" fails.

| case | finding | 15198c7 | now |
|---|---|---|---|
`

export async function readRecord(): Promise<readonly Row[]> {
  const content = await readFile(RECORD_PATH, 'utf8').catch(() => '')
  return content
    .slice(content.indexOf('|---|') + 1)
    .split('\n')
    .flatMap((line) => {
      const [, name, finding, old, now] = /^\| (.*?) \| (.*?) \| (.*?) \| (.*?) \|$/.exec(line) ?? []
      return name === undefined || finding === undefined || old === undefined || now === undefined
        ? []
        : [{ name: name.replaceAll('\\|', '|'), finding, old, now }]
    })
}

/** Every declared case in its order; a column that was not run keeps what it said. */
export async function writeRecord(
  cases: readonly AcceptanceCase[],
  column: 'old' | 'now',
  colours: ReadonlyMap<string, Colour>,
): Promise<void> {
  const before = new Map((await readRecord()).map((row) => [row.name, row]))
  const rows = cases.map(({ name, finding = '' }) => {
    const kept = { old: '', now: '', ...before.get(name) }
    const row = { ...kept, name, finding, [column]: colours.get(name) ?? kept[column] }
    return `| ${name.replaceAll('|', '\\|')} | ${row.finding} | ${row.old} | ${row.now} |\n`
  })
  await writeFile(RECORD_PATH, `${HEAD}${rows.join('')}`)
}

/** Cases the record does not have, or has differently: to be said, the record is written by `--record`. */
export function differences(rows: readonly Row[], colours: ReadonlyMap<string, Colour>): readonly string[] {
  const byName = new Map(rows.map((row) => [row.name, row]))
  return [...colours].flatMap(([name, colour]) => {
    const row = byName.get(name)
    if (row === undefined) return [`${name}: not in the record`]
    return row.now === colour || row.now === '' ? [] : [`${name}: ${row.now} in the record, ${colour} now`]
  })
}
