import type { Failure, Points, Score } from './verdicts.ts'

function share({ passed, of }: Points): string {
  return `${passed} of ${of}`
}

/** docs/conformance-cache.md, whole. */
export function conformanceDocument(
  scores: readonly Score[],
  failures: readonly (Failure & { readonly why: string | undefined })[],
  targets: { readonly required: number; readonly optimal: number },
): string {
  const rows = scores.map(({ name, required, optimal }) => `| ${name} | ${share(required)} | ${share(optimal)} |`)
  const exceptions = failures.map(({ id, kind, why, found }) => `| \`${id}\` | ${kind} | ${why ?? found} |`)
  return `# How the edge caches, by the tests of others

\`npm run conformance:cache -- --write\` wrote this page. It runs http-cache-tests 0.4.5 against three caches in front of
the suite's own origin: the edge through an ordinary \`/u/\` route whose configuration lists the headers the tests use;
nginx and Varnish as Debian packages them, with the configurations in \`verify/conformance/cache/peers\`.
A test that builds on one that fails does not count as passed.

| cache | required | optimal |
|---|--:|--:|
${rows.join('\n')}

The edge is to pass at least ${targets.required} required and ${targets.optimal} optimal tests, and more than either of the others.

## What the edge does not pass, and why

| test | kind | why |
|---|---|---|
${exceptions.join('\n')}
`
}
