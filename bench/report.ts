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

export const BENCHMARKS_HEAD = `# Benchmarks

Appended by \`npm run bench <name>\`, newest last. Ours and the peer take turns; figures are medians, with the
lowest and highest run and the median deviation. The ratio says how many times better ours is: above 1 ours wins;
it is the median of the ratios of single rounds, since a shared machine is not equally fast in all of them. The bound,
where there is one, is what the machine below ours reaches beside the same peer in the same rounds.
`

/** A dated section for docs/benchmarks.md. */
export function resultSection(title: string, machine: string, results: readonly Result[]): string {
  const rows = results.map(({ bench, rounds, ours, peer, ratio, boundRatio }) => {
    const unit = `${bench.unit} ${bench.higherIsBetter ? '↑' : '↓'}`
    const bound = boundRatio === undefined ? '' : `${spread(boundRatio)}: ${bench.bound?.name ?? ''}`
    const figures = [spread(ours), spread(peer), bench.peerName, spread(ratio), bound]
    const cells = [bench.name, unit, ...figures, rounds, bench.limits]
    return `| ${cells.join(' | ')} |`
  })
  return `
## ${title}

${machine}

| bench | unit | ours | peer | the peer is | ratio | bound beside the peer | rounds | limits in force |
|---|---|---|---|---|--:|--:|--:|---|
${rows.join('\n')}
`
}
