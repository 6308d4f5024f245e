/** record.md: what each target was given, over all campaigns. */

export interface FuzzRecord {
  readonly minutes: number
  readonly executions: number
  /** Characters of the source under test that ran, of those there are. */
  readonly reached: number
  readonly total: number
  /** Inputs kept, each of which runs something no other does. */
  readonly inputs: number
  readonly found: number
}

const HEAD = `# Fuzzing

What meets the outside is given unexpected inputs, led by which parts of its code have run. To refuse is right;
an error that is no refusal, a second without an answer, or a broken promise of the format is a find. Every find is kept in
\`verify/fuzz/crashers\` and tried in every \`npm test\`. \`npm run fuzz -- --minutes 5 all\` adds to this table.

| target | processor minutes | inputs tried | source run, characters | of | inputs kept | found |
|---|--:|--:|--:|--:|--:|--:|
`

const ROW = /^\| ([a-z-]+) \| ([\d.]+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$/gm

export function readRecord(text: string): Map<string, FuzzRecord> {
  const record = new Map<string, FuzzRecord>()
  for (const [, name = '', ...cells] of text.matchAll(ROW)) {
    const [minutes = 0, executions = 0, reached = 0, total = 0, inputs = 0, found = 0] = cells.map(Number)
    record.set(name, { minutes, executions, reached, total, inputs, found })
  }
  return record
}

export function renderRecord(record: ReadonlyMap<string, FuzzRecord>): string {
  const rows = [...record].map(([name, { minutes, executions, reached, total, inputs, found }]) => {
    const cells = [name, Math.round(minutes * 100) / 100, executions, reached, total, inputs, found]
    return `| ${cells.join(' | ')} |\n`
  })
  return `${HEAD}${rows.join('')}`
}
