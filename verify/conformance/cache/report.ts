import type { Failure, Points, Score } from './verdicts.ts'

/** One run of one edition of the suite. */
export interface SuiteReport {
  readonly edition: string
  readonly scores: readonly Score[]
  readonly failures: readonly (Failure & { readonly why: string | undefined })[]
  readonly targets: { readonly required: number; readonly optimal: number }
}

function share({ passed, of }: Points): string {
  return `${passed} of ${of}`
}

/** docs/conformance-cache.md, whole. */
export function conformanceDocument(reports: readonly SuiteReport[]): string {
  return `# How the edge caches, by the tests of others

\`npm run conformance:cache -- --suite DIR --write\` wrote this page, with the public repository http-tests/cache-tests
cloned in DIR; \`npm run conformance:cache\` alone runs the older edition that is on npm. Both run against a whole node
(\`cairn start\`, its data on a disk) with an ordinary \`/u/\` route in front of the suite's own origin, whose configuration
lists the headers the tests use, and against nginx and Varnish with the configurations in
\`verify/conformance/cache/peers\`, where they are installed.
A test that builds on one that fails, directly or through others, does not count as passed.
${reports.map(section).join('')}`
}

function section({ edition, scores, failures, targets }: SuiteReport): string {
  const rows = scores.map(({ name, required, optimal }) => `| ${name} | ${share(required)} | ${share(optimal)} |`)
  const reasons = Object.groupBy(failures, ({ kind, why, found }) => `${kind} | ${why ?? found}`)
  const exceptions = Object.entries(reasons).map(
    ([reason, tests = []]) => `| ${tests.map(({ id }) => `\`${id}\``).join(', ')} | ${reason} |`,
  )
  return `
## Edition ${edition}

| cache | required | optimal |
|---|--:|--:|
${rows.join('\n')}

The edge is to pass at least ${targets.required} required and ${targets.optimal} optimal tests, and more than any other here.
What it does not pass, and why:

| tests | kind | why |
|---|---|---|
${exceptions.join('\n')}
`
}
