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
export function resultLine({ bench, rounds, ours, peer, ratio }: Result): string {
  const rows = [
    `${bench.name}: ${bench.unit}, ${bench.higherIsBetter ? 'higher' : 'lower'} is better, median of ${rounds} rounds`,
    `  ours   ${spread(ours)}`,
    `  peer   ${spread(peer)}  ${bench.peerName}`,
    `  ratio  ${spread(ratio)}`,
    `  limits ${bench.limits}`,
  ]
  return rows.join('\n')
}

export const BENCHMARKS_HEAD = `# Benchmarks

Appended by \`npm run bench <name>\`, newest last. Ours and the peer take turns; figures are medians, with the
lowest and highest run and the median deviation. The ratio says how many times better ours is: above 1 ours wins;
it is the median of the ratios of single rounds, since a shared machine is not equally fast in all of them.
`

/** A dated section for docs/benchmarks.md. */
export function resultSection(title: string, machine: string, results: readonly Result[]): string {
  const rows = results.map(({ bench, rounds, ours, peer, ratio }) => {
    const unit = `${bench.unit} ${bench.higherIsBetter ? '↑' : '↓'}`
    const cells = [bench.name, unit, spread(ours), spread(peer), bench.peerName, spread(ratio), rounds, bench.limits]
    return `| ${cells.join(' | ')} |`
  })
  return `
## ${title}

${machine}

| bench | unit | ours | peer | the peer is | ratio | rounds | limits in force |
|---|---|---|---|---|--:|--:|---|
${rows.join('\n')}
`
}
