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

| command | unit | ours | peer | the peer is | ratio | bound | rounds | limits in force | machine | date |
|---|---|---|---|---|--:|---|--:|---|---|---|
`

const ROW = /^\| `npm run bench ([^`]+)` \|/

/** The table with the rows of these results replaced, or added, in order of name. */
export function recordResults(
  text: string,
  date: string,
  machine: string,
  results: ReadonlyMap<string, Result>,
): string {
  const kept = text.split('\n').filter((line) => ROW.test(line) && !results.has(ROW.exec(line)?.[1] ?? ''))
  const added = [...results].map(([name, result]) => rowOf(name, date, machine, result))
  return `${BENCHMARKS_HEAD}${[...kept, ...added].sort((a, b) => (a < b ? -1 : 1)).join('\n')}\n`
}

function rowOf(name: string, date: string, machine: string, result: Result): string {
  const { bench, rounds, ours, peer, ratio, boundRatio } = result
  const unit = `${bench.unit} ${bench.higherIsBetter ? '↑' : '↓'}`
  const bound = boundRatio === undefined ? '' : `${spread(boundRatio)}: ${bench.bound?.name ?? ''}`
  const figures = [spread(ours), spread(peer), bench.peerName, spread(ratio), bound]
  return `| ${[`\`npm run bench ${name}\``, unit, ...figures, rounds, bench.limits, machine, date].join(' | ')} |`
}
