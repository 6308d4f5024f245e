/**
 * Plants every fault of a file at once and leaves a switch at each, so that one loaded module serves all of them:
 *
 *     if (size < 2) return size
 *     if (($mutant(1)?(size <= 2):$mutant(2)?(false):(size < 2))) return ($mutant(3)?(undefined):(size))
 *
 * `$mutant(n)` says whether fault n is the one at work. Lines stay where they are.
 */
import { parseSync } from 'oxc-parser'
import { type Change, changesAt, childrenOf, isSyntax, type Place, type Syntax } from './operators.ts'

export interface Mutant {
  readonly id: number
  readonly file: string
  readonly line: number
  readonly operator: string
  /** What stood there, and what stands there instead; both on one line. */
  readonly before: string
  readonly after: string
}

export interface SwitchedSource {
  readonly mutants: readonly Mutant[]
  readonly source: string
}

interface Switch {
  readonly id: number
  readonly change: Change
}

/** Types are no code; these four only wrap an expression. */
const TYPED_EXPRESSION = /^TS(As|Satisfies|NonNull|Instantiation)Expression$/

const FUNCTION = /Function(Expression|Declaration)$/

/** Finds the faults of a file, numbers them from `firstId`, and writes the file with all of them in it. */
export function switchMutants(file: string, source: string, firstId: number): SwitchedSource {
  const { program, errors } = parseSync(file, source, { lang: 'ts', preserveParens: true })
  const [problem] = errors
  if (problem !== undefined || !isSyntax(program)) throw new Error(`${file} cannot be parsed: ${problem?.message}`)
  const mutants: Mutant[] = []
  const text = new Writer(source, (node, change) => {
    const id = firstId + mutants.length
    mutants.push({
      id,
      file,
      line: lineOf(source, change.start),
      operator: change.operator,
      ...describe(source, node, change),
    })
    return id
  }).write(program, { parent: program, key: '', inError: false, inChain: false, inTry: false })
  return { mutants, source: source.slice(0, program.start) + text + source.slice(program.end) }
}

class Writer {
  readonly #source: string
  readonly #number: (node: Syntax, change: Change) => number

  constructor(source: string, number: (node: Syntax, change: Change) => number) {
    this.#source = source
    this.#number = number
  }

  /** The text of a node with the switches of all faults at and below it. */
  write(node: Syntax, place: Place): string {
    const switches = changesAt(node, place, this.#source).map((change) => ({ id: this.#number(node, change), change }))
    return this.#wrap(node, switches, this.#inside(node, place))
  }

  #inside(node: Syntax, place: Place): string {
    const inError = place.inError || node.type === 'ThrowStatement' || isErrorMade(node)
    let text = ''
    let at = node.start
    for (const [key, child] of codeBelow(node)) {
      const inChain = node.type === 'ChainExpression' || (place.inChain && (key === 'object' || key === 'callee'))
      const inTry = node.type === 'TryStatement' || (place.inTry && !FUNCTION.test(node.type))
      text += this.#source.slice(at, child.start) + this.write(child, { parent: node, key, inError, inChain, inTry })
      at = child.end
    }
    return text + this.#source.slice(at, node.end)
  }

  #wrap(node: Syntax, switches: readonly Switch[], inside: string): string {
    if (switches.length === 0) return inside
    const faulty = ({ change: { start, end, text } }: Switch): string =>
      this.#source.slice(node.start, start) + text + this.#source.slice(end, node.end)
    const [only] = switches
    // Without semicolons a line that starts with a parenthesis would continue the one before it: statements start with `if`.
    if (node.type === 'BlockStatement') return `{if($mutant(${only?.id})){}else${inside}}`
    if (node.type.endsWith('Statement')) return `if($mutant(${only?.id})){}else{${inside}}`
    return `(${switches.map((item) => `$mutant(${item.id})?(${faulty(item)}):`).join('')}(${inside}))`
  }
}

function isErrorMade(node: Syntax): boolean {
  const { callee } = node
  return node.type === 'NewExpression' && isSyntax(callee) && String(callee['name']).endsWith('Error')
}

/** The children that are code, in the order of the text: no types, no names of properties, no imports. */
function codeBelow(node: Syntax): [string, Syntax][] {
  if (/^(ImportDeclaration|ExportAllDeclaration|ExportSpecifier)$/.test(node.type)) return []
  if (node.type === 'ExportNamedDeclaration' && isSyntax(node['source'])) return []
  return childrenOf(node)
    .filter(([key, child]) => {
      if (child.type.startsWith('TS') && !TYPED_EXPRESSION.test(child.type)) return false
      return node['computed'] === true || (key !== 'key' && !(key === 'property' && node.type === 'MemberExpression'))
    })
    .sort(([, a], [, b]) => a.start - b.start)
}

function lineOf(source: string, offset: number): number {
  return source.slice(0, offset).split('\n').length
}

function describe(source: string, node: Syntax, { start, end, text }: Change): Pick<Mutant, 'before' | 'after'> {
  const short = (code: string): string => {
    const line = code.replaceAll(/\s+/g, ' ')
    return line.length > 90 ? `${line.slice(0, 87)}…` : line
  }
  const faulty = source.slice(node.start, start) + text + source.slice(end, node.end)
  return { before: short(source.slice(node.start, node.end)), after: short(faulty) || 'nothing' }
}
