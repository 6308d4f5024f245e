/**
 * `npm run conformance:cache`: how the edge, nginx and Varnish score in http-cache-tests, and every test the edge does
 * not pass. With `--write` the table goes to docs/conformance-cache.md.
 */
import { writeFile } from 'node:fs/promises'
import { type Subject, startEdgeSubject } from './edge-subject.ts'
import { exceptionFor } from './exceptions.ts'
import { findPeers } from './peer-subjects.ts'
import { conformanceDocument } from './report.ts'
import { installSuite, loadSuite, startOrigin } from './suite.ts'
import { failuresOf, type Score, scoreOf, type Verdicts } from './verdicts.ts'

const TARGETS = { required: 140, optimal: 70 } as const
const DOCUMENT = new URL('../../../docs/conformance-cache.md', import.meta.url)

const folder = installSuite()
const suite = await loadSuite(folder)
const origin = await startOrigin(folder)
const { peers, absent } = findPeers()

async function judge(subject: Subject): Promise<Verdicts> {
  try {
    return await suite.run(subject.base)
  } finally {
    await subject.stop()
  }
}

try {
  const ours = await judge(await startEdgeSubject(origin.port, suite.tests))
  const scores: Score[] = [scoreOf('cairn edge', suite.tests, ours)]
  for (const peer of peers) scores.push(scoreOf(peer.name, suite.tests, await judge(await peer.start(origin.port))))
  const write = (line: string): boolean => process.stdout.write(`${line}\n`)
  const failures = failuresOf(suite.tests, ours).map((failure) => ({ ...failure, why: exceptionFor(failure.id) }))
  for (const { kind, id, why, found } of failures) {
    if (why === undefined) process.exitCode = 1
    write(`${kind.padEnd(9)} ${id}: ${why ?? `NOT EXPLAINED: ${found}`}`)
  }
  write('')
  for (const { name, required, optimal } of scores)
    write(`${name}: required ${required.passed} of ${required.of}, optimal ${optimal.passed} of ${optimal.of}`)
  for (const name of absent) write(`skipped ${name}: not installed; verify/conformance/cache/peers/install installs it`)
  const [own, ...others] = scores
  for (const kind of ['required', 'optimal'] as const) {
    const passed = own?.[kind].passed ?? 0
    if (passed < TARGETS[kind] || others.some((other) => other[kind].passed >= passed)) process.exitCode = 1
  }
  if (process.argv.includes('--write')) await writeFile(DOCUMENT, conformanceDocument(scores, failures, TARGETS))
} finally {
  origin.stop()
}
