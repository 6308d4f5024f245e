import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { tidyProblems } from './tidy.ts'

describe('tidy', () => {
  let root = ''
  function write(path: string, text: string): void {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'cairn-tidy-'))
    write('README.md', 'Run `npm ci && npm test`. See [the map](docs/map.md#top) and [npm](https://npmjs.com).\n')
    write('docs/map.md', '# Map\n')
    write('.ci/run', 'npm ci && npm test\n')
    write('package-lock.json', '{"packages":{"node_modules/@cairn/kernel":{"resolved":"packages/kernel","link":true}}}')
    write('verify/vectors/README.md', '| `jcs` | x | Apache-2.0 |\n| `values` | x | facts |\n')
    write('verify/vectors/values/a.json', '{}\n')
    write('packages/kernel/package.json', '{ "exports": { ".": "./src/index.ts" } }\n')
  })
  afterEach(() => rmSync(root, { recursive: true }))

  test('has nothing to say of a tidy tree', () => assert.deepEqual(tidyProblems(root), []))

  const UNTIDY: readonly (readonly [string, string, string, RegExp])[] = [
    ['a dead link', 'docs/a.md', 'See\n[that](./gone.md).\n', /^docs\/a\.md:2: the link to \.\/gone\.md leads nowhere/],
    ['a path of one machine', 'docs/a.md', ['see /', 'home/anna/notes\n'].join(''), /^docs\/a\.md:1: names a place/],
    ['a registry', 'docs/a.md', ['https://registry', '.npmjs.org/\n'].join(''), /^docs\/a\.md:1: names a place/],
    ['white space at a line end', 'docs/a.md', 'one \n', /^docs\/a\.md:1: white space/],
    ['a missing line end', 'docs/a.md', 'one', /^docs\/a\.md: the last line/],
    ['a file named after nothing', 'packages/kernel/src/utils.ts', 'export {}\n', /utils\.ts: name the file after/],
    [
      'a registry in the lockfile',
      'package-lock.json',
      '{"packages":{"a":{"resolved":"https://r"}}}',
      /a names the registry/,
    ],
    [
      'a lockfile entry without an integrity sum',
      'package-lock.json',
      '{"packages":{"node_modules/a":{"version":"1.0.0"}}}',
      /a has no integrity sum/,
    ],
    [
      'a second entry',
      'packages/kernel/package.json',
      '{ "exports": { "./x": "./x.ts" } }\n',
      /the public entries are/,
    ],
    [
      "a file named after a word that is not the field's",
      'packages/kernel/src/town-map.ts',
      'export {}\n',
      /"town" in the name/,
    ],
    ['an identifier that is', 'packages/kernel/src/a.ts', 'export const doorsOf = 1\n', /a\.ts:1: "doors" in the name/],
    ['one in the plural', 'verify/a.ts', '\nconst clerks = 1\n', /verify\/a\.ts:2: "clerks"/],
    ['a folder that is', 'verify/town/map/a.ts', 'export {}\n', /^verify\/\w+: "town" in the name/],
    ['a folder named after nothing', 'packages/kernel/src/utils/a.ts', 'export {}\n', /utils: name the folder after/],
    ['vectors without a licence', 'verify/vectors/jcs/a.json', '{}\n', /^verify\/vectors\/jcs: its licence is not/],
    ['vectors of unknown origin', 'verify/vectors/new/a.json', '{}\n', /^verify\/vectors\/new: say in the README/],
    ['people in prose', 'docs/a.md', 'One.\nNobody waits.\n', /^docs\/a\.md:2: "nobody"; say/],
    [
      'people in what a program says',
      'cli/src/a.ts',
      "\nthrow new Error('Whoever')\n",
      /^cli\/src\/a\.ts:2: "whoever"/,
    ],
    [
      'such a word in the help',
      'docs/COMMANDS.md',
      'Read.\nOpen the doors.\n',
      /^docs\/COMMANDS\.md:2: "doors" in the name/,
    ],
    ['too many documents', 'docs/a.md', `${'x'.repeat(301 * 1024)}\n`, /^docs: 302 KiB of Markdown/],
    ['a README without the test command', 'README.md', 'Run it.\n', /^README\.md: the test command is/],
    ['a CI script that runs something else', '.ci/run', 'npm test\n', /^\.ci\/run: the test command is/],
  ]
  test('has nothing to say of such words in comments, texts of tests, or inside of others', () => {
    write('packages/kernel/src/a.ts', '// By no means a town.\nexport const bookkeeping = 1 // addresses\n')
    write('packages/kernel/src/a.test.ts', "test('nobody waits', () => {})\n")
    assert.deepEqual(tidyProblems(root), [])
  })
  for (const [what, path, text, problem] of UNTIDY) {
    test(`reports ${what}`, () => {
      write(path, text)
      const problems = tidyProblems(root)
      assert.equal(problems.length, 1, problems.join('\n'))
      assert.match(problems[0]!, problem)
    })
  }
})
