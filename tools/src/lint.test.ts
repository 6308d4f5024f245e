import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { LINT_SAMPLES, type Sample } from './lint-samples.ts'
import { REPOSITORY } from './repository.ts'

interface Config {
  readonly rules: Readonly<Record<string, unknown>>
  readonly overrides: readonly { readonly rules: Readonly<Record<string, unknown>> }[]
}

/** Rules the configuration turns on by name anywhere in the repository. Its comments are whole lines. */
function rulesTurnedOn(): string[] {
  const text = readFileSync(join(REPOSITORY, '.oxlintrc.json'), 'utf8').replace(/^\s*\/\/.*$/gm, '')
  const config = JSON.parse(text) as Config
  const entries = [config, ...config.overrides].flatMap(({ rules }) => Object.entries(rules))
  return [...new Set(entries.filter(([, setting]) => setting !== 'off').map(([name]) => name))]
}

/** Lays the samples out like the repository, under its lint configuration; says which path each one got. */
function layOut(root: string, samples: readonly Sample[]): Map<Sample, string> {
  const paths = new Map(samples.map((sample, index) => [sample, sample.path.replace('sample', `sample-${index}`)]))
  for (const [{ source }, path] of paths) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), source)
  }
  for (const file of ['.oxlintrc.json', 'tsconfig.json']) copyFileSync(join(REPOSITORY, file), join(root, file))
  for (const link of ['node_modules', 'tools/src/lint-rules']) symlinkSync(join(REPOSITORY, link), join(root, link))
  writeFileSync(join(root, 'package.json'), '{ "type": "module" }\n')
  return paths
}

/** Runs the linter and lists the rules it reported, `plugin/rule`, for each file. */
function lint(root: string): Map<string, Set<string>> {
  const { stdout, stderr } = spawnSync('oxlint', ['--format=json'], { cwd: root, encoding: 'utf8' })
  assert.equal(stderr, '')
  const reported = new Map<string, Set<string>>()
  const { diagnostics } = JSON.parse(stdout) as { diagnostics: readonly { code: string; filename: string }[] }
  for (const { code, filename } of diagnostics) {
    const rules = reported.get(filename) ?? new Set()
    reported.set(filename, rules.add(code.replace(/^(.+)\((.+)\)$/, '$1/$2')))
  }
  return reported
}

/** The sample on one line, without the declarations it needs to stand alone. */
function titleOf({ path, source }: Sample): string {
  const line = source
    .replace(/^declare .*$/gm, '')
    .replace(/\s+/g, ' ')
    .trim()
  return `${line.length > 90 ? `${line.slice(0, 87)}...` : line} in ${path}`
}

describe('the linter', () => {
  const samples = Object.values(LINT_SAMPLES).flatMap(({ bad, good }) => [...bad, ...good])
  let root = ''
  let paths = new Map<Sample, string>()
  let reported = new Map<string, Set<string>>()
  before(() => {
    root = mkdtempSync(join(tmpdir(), 'cairn-lint-'))
    paths = layOut(root, samples)
    reported = lint(root)
  })
  after(() => rmSync(root, { recursive: true }))

  test('has a bad sample for every rule that is turned on by name', () => {
    const shown = Object.entries(LINT_SAMPLES).filter(([, { bad }]) => bad.length > 0)
    assert.deepEqual(rulesTurnedOn().sort(), shown.map(([name]) => name).sort())
  })

  for (const [name, { bad, good }] of Object.entries(LINT_SAMPLES)) {
    for (const sample of bad) {
      test(`${name} reports ${titleOf(sample)}`, () => {
        const rules = [...(reported.get(paths.get(sample)!) ?? [])]
        assert.ok(rules.includes(name), `reported: ${rules.join(', ') || 'nothing'}`)
      })
    }
    for (const sample of good) {
      test(`${name} accepts ${titleOf(sample)}`, () => {
        assert.deepEqual([...(reported.get(paths.get(sample)!) ?? [])], [])
      })
    }
  }
})
