/** What is wrong with a configuration, each thing with its place, in sentences a person can act on. */
import type { z } from 'zod'
import { type ConfigSchemas, namesAt } from './setting.ts'

/** Edits it takes to turn one word into the other: insert, delete, replace, or swap two neighbours. */
export function editDistance(from: string, to: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row]
    for (let column = 1; column <= to.length; column += 1) {
      const isEqual = from[row - 1] === to[column - 1]
      const isSwapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      const swap = row > 1 && column > 1 && isSwapped ? (beforeLast[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY
      current[column] = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (isEqual ? 0 : 1),
        swap,
      )
    }
    beforeLast = last
    last = current
  }
  return last[to.length] ?? 0
}

/** The known word that `word` was most likely meant to be; undefined when none is close. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  let best: { readonly word: string; readonly distance: number } | undefined
  for (const candidate of known) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase())
    if (distance < (best?.distance ?? Number.POSITIVE_INFINITY)) best = { word: candidate, distance }
  }
  return best !== undefined && best.distance <= Math.max(1, Math.floor(word.length / 3)) ? best.word : undefined
}

/** Which of the bounded reasons a refusal is counted under. */
export type ConfigRefusalReason = 'unreadable' | 'syntax' | 'unknown_key' | 'invalid_value' | 'rebind_failed'

export interface ConfigProblem {
  readonly reason: ConfigRefusalReason
  /** `cairn.toml:12:3`, `env CAIRN__…`, `flag --port-base`. */
  readonly place: string
  /** The full key, empty where the problem is not about one. */
  readonly key: string
  readonly detail: string
}

/** One line for each problem: where, then what, then what to do. */
export function renderProblems(problems: readonly ConfigProblem[]): string {
  return problems.map(({ place, detail }) => `${place}: ${detail}`).join('\n')
}

/** Finds the place of a validation issue, by the path of the value or of an undeclared key. */
export interface ProblemPlaces {
  ofValue(path: readonly PropertyKey[]): string
  ofKey(path: readonly PropertyKey[]): string
  isSecret(path: readonly PropertyKey[]): boolean
}

/** Every issue of a failed validation as a problem; unknown keys come one by one. */
export function problemsOf(
  issues: readonly z.core.$ZodIssue[],
  schemas: ConfigSchemas,
  values: unknown,
  places: ProblemPlaces,
): ConfigProblem[] {
  return issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((name) => unknownKey([...issue.path, name], schemas, places))
    }
    if (issue.code === 'invalid_key') {
      const key = issue.path.map(String).join('.')
      return [{ reason: 'invalid_value', place: places.ofKey(issue.path), key, detail: `${key} is not a valid name.` }]
    }
    const branch = issue.code === 'invalid_union' ? deepestBranch(issue) : undefined
    if (branch !== undefined) return problemsOf(branch, schemas, values, places)
    const key = issue.path.map(String).join('.')
    const got = places.isSecret(issue.path) ? '' : `; got ${shown(valueAt(values, issue.path))}`
    const detail = `${key} ${requirement(issue)}${got}.`
    return [{ reason: 'invalid_value', place: places.ofValue(issue.path), key, detail }]
  })
}

function unknownKey(path: readonly PropertyKey[], schemas: ConfigSchemas, places: ProblemPlaces): ConfigProblem {
  const parent = path.slice(0, -1)
  const name = String(path.at(-1))
  const key = path.map(String).join('.')
  const [service, ...inside] = parent
  const schema = service === undefined ? undefined : schemas[String(service)]
  const known = service === undefined ? Object.keys(schemas) : schema === undefined ? [] : namesAt(schema, inside)
  const detail = `${key} is not a known key; ${hint(nearest(name, known), known, parent.map(String))}`
  return { reason: 'unknown_key', place: places.ofKey(path), key, detail }
}

function hint(near: string | undefined, known: readonly string[], parent: readonly string[]): string {
  if (near !== undefined) return `did you mean ${[...parent, near].join('.')}?`
  return known.length === 0 ? 'remove it.' : `the keys here are ${known.join(', ')}.`
}

/** Of the alternatives of a union, the one that got furthest; undefined when none got past the value itself. */
function deepestBranch(issue: z.core.$ZodIssueInvalidUnion): z.core.$ZodIssue[] | undefined {
  const branches = issue.errors.filter((branch) =>
    branch.some((inner) => inner.path.length > 0 || inner.code === 'unrecognized_keys'),
  )
  return branches[0]?.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }))
}

/** What the value has to be, as the end of a sentence that begins with the key. */
function requirement(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${article(TYPE_NAMES[issue.expected] ?? issue.expected)}`
    case 'invalid_value':
      return `must be ${issue.values.length === 1 ? '' : 'one of '}${issue.values.map(shown).join(', ')}`
    case 'too_small':
      return amount(issue.inclusive === false ? 'more than' : 'at least', issue.minimum, issue.origin)
    case 'too_big':
      return amount(issue.inclusive === false ? 'less than' : 'at most', issue.maximum, issue.origin)
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`
    case 'invalid_union': {
      if (issue.message.startsWith('must be ')) return issue.message
      const parts = issue.errors.flatMap((branch) => branch.map((inner) => requirement(inner).replace(/^must be /, '')))
      return `must be ${[...new Set(parts)].join(' or ')}`
    }
    case 'invalid_format':
      return issue.format === 'regex'
        ? `must match ${issue.pattern ?? 'its pattern'}`
        : `must be a valid ${issue.format}`
    case 'invalid_key':
    case 'invalid_element':
    case 'unrecognized_keys':
      return 'has a part that is not valid'
    case 'custom':
      return issue.message === 'Invalid input' ? 'is not valid' : issue.message
  }
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  int: 'whole number',
  object: 'table',
  record: 'table',
  boolean: 'true or false',
}

function article(name: string): string {
  if (name === 'true or false') return name
  return `${/^[aeiou]/.test(name) ? 'an' : 'a'} ${name}`
}

function amount(relation: string, bound: number | bigint, origin: string): string {
  if (origin === 'string') return `must have ${relation} ${bound} characters`
  return origin === 'array' ? `must have ${relation} ${bound} entries` : `must be ${relation} ${bound}`
}

/** A value as the user wrote it, cut short where it is long. */
function shown(value: unknown): string {
  if (value === undefined) return 'nothing'
  const text = JSON.stringify(value)
  return text.length > 60 ? `${text.slice(0, 57)}…` : text
}

export function valueAt(tree: unknown, path: readonly PropertyKey[]): unknown {
  let value = tree
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined
    value = Reflect.get(value, step)
  }
  return value
}
