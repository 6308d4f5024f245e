import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parse, stringify, TomlError } from 'smol-toml'
import { type Path, type SourcePosition, tomlPositions } from './toml-positions.ts'

/** Every path of a parsed text: tables, keys, elements. */
function pathsOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null || value instanceof Date) return []
  const steps: (string | number)[] = Array.isArray(value) ? [...value.keys()] : Object.keys(value)
  return steps.flatMap((step) => {
    const at = [...path, step]
    return [at, ...pathsOf(Reflect.get(value, step), at)]
  })
}

const sorted = (paths: Path[]): string[] => paths.map((path) => JSON.stringify(path)).sort()

function textAt(text: string, { line, column }: SourcePosition): string {
  return text
    .split('\n')
    .slice(line - 1)
    .join('\n')
    .slice(column - 1)
}

/** What stands at the place of a key reads, as TOML, as that key. */
function spells(text: string, place: SourcePosition, name: string): boolean {
  const written = /^(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')/.exec(textAt(text, place))?.[0]
  return written !== undefined && Object.keys(parse(`${written} = 0`))[0] === name
}

function check(text: string): void {
  const parsed = parse(text)
  const places = tomlPositions(text)
  assert.deepEqual(sorted(places.paths()), sorted(pathsOf(parsed)))
  for (const path of places.paths()) {
    const name = path.at(-1)
    if (typeof name !== 'string') continue
    const place = places.at(path)!
    assert.ok(spells(text, place.key, name), `${JSON.stringify(path)} is not at ${JSON.stringify(place.key)}`)
  }
}

const bareKey = fc.constantFrom('a', 'b', 'c', 'max_rps', '1', '-', 'x-y')
const quotedKey = fc.oneof(
  fc.constantFrom('"a.b"', "'a.b'", '"q\\"q"', '"\\u00e9"', '"\\U0001F600"', "'é # = ]'", '""', '"\\t\\\\"', '" "'),
  fc.string({ maxLength: 4 }).map((text) => JSON.stringify(text)),
)
const space = fc.constantFrom('', ' ', '\t', '  ')
const key = fc
  .array(fc.oneof({ weight: 4, arbitrary: bareKey }, { weight: 1, arbitrary: quotedKey }), {
    minLength: 1,
    maxLength: 3,
  })
  .chain((parts) => space.map((gap) => parts.join(`${gap}.${gap}`)))

const scalar = fc.constantFrom(
  '1',
  '-1_000',
  '0xff',
  '1.5e3',
  'nan',
  '-inf',
  'true',
  '1979-05-27T07:32:00Z',
  '1979-05-27 07:32:00',
  '1979-05-27',
  '07:32:00',
  '"text # not a comment"',
  '"a \\" b = 1 \\\\"',
  "'literal \\'",
  '"""\nlong\n# [not.a.table]\n""quoted""\\\n  end"""',
  '""""four"""""',
  "'''\nraw ''two'' \\'''",
  "''''it''s'''''",
  '""',
  '[]',
  '{}',
)
const gap = fc.constantFrom('', ' ', '\n', ' # comment ] } "\n ', '\r\n\t')
const { value } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    { weight: 4, arbitrary: scalar },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.array(tie('value'), { maxLength: 3 }), gap, fc.boolean())
        .map(
          ([items, between, trailing]) =>
            `[${between}${items.join(`${between},${between}`)}${between}${trailing && items.length > 0 ? `,${between}` : ''}]`,
        ),
    },
    {
      weight: 1,
      arbitrary: fc
        .array(fc.tuple(key, tie('value')), { maxLength: 3 })
        .map((pairs) => `{ ${pairs.map(([name, inner]) => `${name} = ${inner}`).join(' , ')} }`),
    },
  ),
}))
const statement = fc.oneof(
  fc
    .tuple(space, key, space, value)
    .map(([indent, name, around, inner]) => `${indent}${name}${around}=${around}${inner}`),
  fc.tuple(space, key).map(([inside, name]) => `[${inside}${name}${inside}]`),
  fc.tuple(space, key).map(([inside, name]) => `[[${inside}${name}${inside}]]`),
  fc.constantFrom('', '# a comment = [1]', ' \t'),
)

/** Statements, without those that clash with the ones before them. */
function legal(statements: readonly string[], lineEnd: string, start: string): string {
  let text = start
  for (const next of statements) {
    const longer = `${text}${next}${lineEnd}`
    try {
      parse(longer)
      text = longer
    } catch (error) {
      if (!(error instanceof TomlError)) throw error
    }
  }
  return text
}

test('the scanner finds the paths the parser finds, each key where it is written', () => {
  const document = fc.tuple(
    fc.array(statement, { maxLength: 12 }),
    fc.constantFrom('\n', '\r\n', ' # end\n'),
    fc.constantFrom('', '\uFEFF'),
  )
  fc.assert(
    fc.property(document, ([statements, lineEnd, start]) => check(legal(statements, lineEnd, start))),
    { numRuns: 2000 },
  )
})

test('the scanner follows everything the serialiser writes', () => {
  const leaf = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.double({ noDefaultInfinity: true, noNaN: true }))
  const tree = fc.object({ key: fc.string({ maxLength: 5 }), values: [leaf], maxDepth: 3, maxKeys: 5 })
  fc.assert(
    fc.property(tree, (object) => check(stringify(object))),
    { numRuns: 500 },
  )
})
