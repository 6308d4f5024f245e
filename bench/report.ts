import type { Result } from './harness.ts'
import type { Spread } from './statistics.ts'

/** A figure with three digits that mean something and its magnitude. */
export function figure(value: number): string {
  const magnitudes = [
    [1e9, 'G'],
    [1e6, 'M'],
    [1e3, 'k'],
  ] as const
  const [scale, letter] = magnitudes.find(([least]) => value >= least) ?? [1, '']
  return `${(value / scale).toPrecision(3)}${letter === '' ? '' : ` ${letter}`}`
}

const spread = ({ median, min, max, deviation }: Spread): string =>
  `${figure(median)} (${figure(min)} to ${figure(max)}, ±${((deviation / median) * 100).toFixed(1)} %)`

/** For the record, where rows are to be read side by side. */
const range = ({ median, min, max }: Spread): string => `${figure(median)} (${figure(min)} to ${figure(max)})`

/** One line for the terminal. */
export function resultLine({ bench, rounds, ours, peer, ratio, boundRatio }: Result): string {
  const rows = [
    `${bench.name}: ${bench.unit}, ${bench.higherIsBetter ? 'higher' : 'lower'} is better, median of ${rounds} rounds`,
    `  ours   ${spread(ours)}`,
    `  peer   ${spread(peer)}  ${bench.peerName}`,
    `  ratio  ${spread(ratio)}`,
    ...(boundRatio === undefined ? [] : [`  bound  ${spread(boundRatio)} beside the peer: ${bench.bound?.name ?? ''}`]),
    `  limits ${bench.limits}`,
  ]
  return rows.join('\n')
}

const BENCHMARKS_HEAD = `# Benchmarks

One row for each benchmark: the latest run of \`npm run bench NAME -- --record\` on a quiet machine. Ours and the peer take
turns in one run; figures are medians with the lowest and highest round. The ratio says how many times better ours is
(above 1 ours wins) and is the median of the ratios of single rounds, since a shared machine is not equally fast in all of
them. The bound, where there is one, is what the machine below ours reaches beside the same peer in the same rounds.
`
const TABLE_HEAD = `| \`npm run bench …\` | unit | ours | peer | the peer is | ratio | bound | rounds | limits in force | date |
|---|---|---|---|---|--:|---|--:|---|---|
`

const SECTION = /^## On (.+)$/
const ROW = /^\| `([^`]+)` \|/

/** The tables, one for each machine, with the rows of these results replaced, or added, in order of name. */
export function recordResults(
  text: string,
  date: string,
  machine: string,
  results: ReadonlyMap<string, Result>,
): string {
  const sections = new Map<string, string[]>()
  let rows: string[] | undefined
  for (const line of text.split('\n')) {
    const name = SECTION.exec(line)?.[1]
    if (name !== undefined) sections.set(name, (rows = []))
    const bench = ROW.exec(line)?.[1]
    if (bench !== undefined && !results.has(bench)) rows?.push(line)
  }
  const added = [...results].map(([name, result]) => rowOf(name, date, result))
  sections.set(machine, [...(sections.get(machine) ?? []), ...added])
  const tables = [...sections]
    .filter(([, lines]) => lines.length > 0)
    .map(([name, lines]) => `## On ${name}\n\n${TABLE_HEAD}${lines.sort().join('\n')}\n`)
  return [BENCHMARKS_HEAD, ...tables].join('\n')
}

function rowOf(name: string, date: string, result: Result): string {
  const { bench, rounds, ours, peer, ratio, boundRatio } = result
  const unit = `${bench.unit} ${bench.higherIsBetter ? '↑' : '↓'}`
  const bound = boundRatio === undefined ? '' : `${range(boundRatio)}: ${bench.bound?.name ?? ''}`
  const figures = [range(ours), range(peer), bench.peerName, range(ratio), bound]
  return `| ${[`\`${name}\``, unit, ...figures, rounds, bench.limits, date].join(' | ')} |`
}
