/** The small faults that are planted, one at a time: what each kind of syntax can be turned into. */
import { visitorKeys } from 'oxc-parser'

/** A node of the syntax tree, as the parser gives it. */
export interface Syntax {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [key: string]: unknown
}

/** What surrounds a node and decides which faults make sense there. */
export interface Place {
  readonly parent: Syntax
  readonly key: string
  /** Inside what is thrown, or an error that is made: the words there are prose for people. */
  readonly inError: boolean
  /** On the way down an optional chain. */
  readonly inChain: boolean
  /** Inside a `try` of the same function, where it matters whether a promise is awaited before it is returned. */
  readonly inTry: boolean
}

/** An edit of the text between two offsets, and how it is called. */
export interface Change {
  readonly operator: string
  readonly start: number
  readonly end: number
  readonly text: string
}

const NEGATIONS: Readonly<Record<string, readonly string[]>> = {
  '===': ['!=='],
  '!==': ['==='],
  '==': ['!='],
  '!=': ['=='],
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  in: [],
  instanceof: [],
}

const ARITHMETIC: Readonly<Record<string, string>> = {
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '%': '*',
  '**': '*',
  '&': '|',
  '|': '&',
  '^': '&',
  '<<': '>>',
  '>>': '<<',
  '>>>': '<<',
}

/** Methods with a near relative; the empty name drops the call and keeps what it was called on. */
const METHODS: Readonly<Record<string, string>> = {
  startsWith: 'endsWith',
  endsWith: 'startsWith',
  toUpperCase: 'toLowerCase',
  toLowerCase: 'toUpperCase',
  trim: '',
  trimStart: 'trimEnd',
  trimEnd: 'trimStart',
  some: 'every',
  every: 'some',
  filter: '',
  slice: '',
  subarray: '',
  sort: '',
  toSorted: '',
  reverse: '',
  toReversed: '',
  min: 'max',
  max: 'min',
  floor: 'ceil',
  ceil: 'floor',
  indexOf: 'lastIndexOf',
  lastIndexOf: 'indexOf',
  push: 'unshift',
  unshift: 'push',
  shift: 'pop',
  pop: 'shift',
}

/** What a returned expression must be for `undefined` to say more than the faults inside it do. */
const PLAIN_VALUES = /^(Identifier|CallExpression|NewExpression|MemberExpression|AwaitExpression|ChainExpression)$/

export function isSyntax(value: unknown): value is Syntax {
  return typeof value === 'object' && value !== null && typeof Reflect.get(value, 'type') === 'string'
}

/** The nodes directly below one, with the name they go by. */
export function childrenOf(node: Syntax): [string, Syntax][] {
  return (visitorKeys[node.type] ?? []).flatMap((key) => {
    const value = node[key]
    const nodes: unknown[] = Array.isArray(value) ? value : [value]
    return nodes.filter(isSyntax).map((child): [string, Syntax] => [key, child])
  })
}

function child(node: Syntax, key: string): Syntax {
  const found = node[key]
  if (!isSyntax(found)) throw new Error(`${node.type} has no ${key}`)
  return found
}

function name(node: Syntax, key: string): string {
  return String(node[key])
}

/** Every fault that can be planted at this node itself, not below it. */
export function changesAt(node: Syntax, place: Place, source: string): Change[] {
  const whole = (operator: string, text: string): Change => ({ operator, start: node.start, end: node.end, text })
  const textOf = (inner: Syntax): string => source.slice(inner.start, inner.end)
  const changes = [...(RULES[node.type]?.({ node, place, source, whole, textOf }) ?? [])]
  if (isTest(place) && !isComparison(node) && node.type !== 'Literal') {
    changes.push(whole('condition', 'false'))
    if (!isLoop(place.parent)) changes.push(whole('condition', 'true'))
  }
  const isReturned = place.parent.type === 'ReturnStatement' || isArrowBody(place)
  if (isReturned && PLAIN_VALUES.test(node.type) && node['name'] !== 'undefined')
    changes.push(whole('returned value', 'undefined'))
  return changes
}

function isArrowBody({ parent, key }: Place): boolean {
  return parent.type === 'ArrowFunctionExpression' && key === 'body'
}

function isTest({ parent, key }: Place): boolean {
  return key === 'test' && parent.type !== 'SwitchCase'
}

function isLoop(node: Syntax): boolean {
  return /^(While|DoWhile|For)Statement$/.test(node.type)
}

function isComparison(node: Syntax): boolean {
  return node.type === 'BinaryExpression' && name(node, 'operator') in NEGATIONS
}

interface Spot {
  readonly node: Syntax
  readonly place: Place
  readonly source: string
  readonly whole: (operator: string, text: string) => Change
  readonly textOf: (inner: Syntax) => string
}

type Rule = (spot: Spot) => Iterable<Change>

/** A statement that is all an `if` does is gone when the condition is false: that would be the same fault twice. */
const removed: Rule = ({ place: { parent, key }, whole }) =>
  parent.type === 'IfStatement' && key === 'consequent' && !isSyntax(parent['alternate'])
    ? []
    : [whole('statement', '')]

const RULES: Readonly<Record<string, Rule>> = {
  ThrowStatement: removed,
  BreakStatement: removed,
  ContinueStatement: removed,
  ReturnStatement: (spot) => (spot.node['argument'] === null ? removed(spot) : []),
  ExpressionStatement: (spot) =>
    typeof spot.node['directive'] === 'string' || spot.textOf(spot.node).startsWith('super(') ? [] : removed(spot),

  // A block with one statement that can be removed would be the same fault twice; an empty `while` never ends.
  *BlockStatement({ node, place, whole }) {
    const body = childrenOf(node)
    const isSame = body.length === 1 && body.every(([, statement]) => statement.type in RULES)
    const { type, alternate } = place.parent
    const isWhole = type === 'IfStatement' && place.key === 'consequent' && !isSyntax(alternate)
    if (body.length > 0 && !isSame && !isWhole && !/^(While|DoWhile)Statement$/.test(type)) yield whole('block', '{}')
  },

  *BinaryExpression({ node, place, source, whole }) {
    const operator = name(node, 'operator')
    const others = NEGATIONS[operator] ?? []
    const isText = [child(node, 'left'), child(node, 'right')].some(isTextual)
    const [from, to] = [child(node, 'left').end, child(node, 'right').start]
    const at = from + source.slice(from, to).indexOf(operator)
    const swap = (text: string): Change => ({ operator: 'operator', start: at, end: at + operator.length, text })
    const arithmetic = ARITHMETIC[operator]
    for (const other of others) yield swap(other)
    if (arithmetic !== undefined && !isText) yield swap(arithmetic)
    if (isComparison(node)) yield whole('condition', 'false')
    if (isComparison(node) && !(isTest(place) && isLoop(place.parent))) yield whole('condition', 'true')
  },

  *LogicalExpression({ node, whole, textOf }) {
    const [left, right] = [textOf(child(node, 'left')), textOf(child(node, 'right'))]
    const operator = name(node, 'operator')
    if (operator === '??') yield* [whole('logic', left), whole('logic', right)]
    else yield whole('logic', `(${left}) ${operator === '&&' ? '||' : '&&'} (${right})`)
  },

  *UnaryExpression({ node, whole, textOf }) {
    if (/^[!~-]$/.test(name(node, 'operator'))) yield whole('unary', textOf(child(node, 'argument')))
  },

  *UpdateExpression({ node, source }) {
    const [start, end] = node['prefix'] === true ? [node.start, node.start + 2] : [node.end - 2, node.end]
    yield { operator: 'update', start, end, text: source.startsWith('++', start) ? '--' : '++' }
  },

  *AssignmentExpression({ node, source }) {
    const operator = name(node, 'operator')
    const other = /^(\?\?|\|\||&&)=$/.test(operator) ? '=' : `${ARITHMETIC[operator.slice(0, -1)] ?? ''}=`
    const from = child(node, 'left').end
    const at = from + source.slice(from).indexOf(operator)
    const isText = isTextual(child(node, 'right'))
    if (other !== operator && !isText) yield { operator: 'operator', start: at, end: at + operator.length, text: other }
  },

  *Literal({ node, place, whole }) {
    const { value } = node
    const { parent, key } = place
    if (typeof value === 'boolean' && !isTest(place)) yield whole('literal', String(!value))
    if (typeof value !== 'string' || (key === 'key' && parent['computed'] !== true)) return
    if (!isProse(value, place)) yield whole('text', value === '' ? "'mutated'" : "''")
  },

  *TemplateLiteral({ node, place, whole, textOf }) {
    if (place.parent.type === 'TaggedTemplateExpression') return
    if (!isProse(textOf(node), place)) yield whole('text', "''")
  },

  *ArrayExpression({ node, whole }) {
    if (childrenOf(node).length > 0) yield whole('array', '[]')
  },

  *ObjectExpression({ node, whole }) {
    if (childrenOf(node).length > 0) yield whole('object', '{}')
  },

  // Faults on the way down a chain are planted at its top: parentheses in the middle would end its short circuit.
  *ChainExpression({ node, source }) {
    for (let inner: unknown = node['expression']; isSyntax(inner); inner = inner['object'] ?? inner['callee']) {
      if (inner['optional'] === true) {
        const from = child(inner, 'object' in inner ? 'object' : 'callee').end
        const start = from + source.slice(from).indexOf('?.')
        yield { operator: 'chain', start, end: start + 2, text: /[([]/.test(source.charAt(start + 2)) ? '' : '.' }
      }
      yield* methodSwap(inner)
    }
  },

  *CallExpression({ node, place }) {
    if (!place.inChain) yield* methodSwap(node)
  },

  *AwaitExpression({ node, place, whole, textOf }) {
    const isReturned = place.parent.type === 'ReturnStatement' || isArrowBody(place)
    if (!isReturned || place.inTry) yield whole('await', textOf(child(node, 'argument')))
  },
}

function* methodSwap(node: Syntax): Iterable<Change> {
  if (node.type !== 'CallExpression') return
  const callee = child(node, 'callee')
  if (callee.type !== 'MemberExpression' || callee['computed'] === true) return
  const property = child(callee, 'property')
  const other = Object.hasOwn(METHODS, name(property, 'name')) ? METHODS[name(property, 'name')] : undefined
  if (other === undefined) return
  if (other !== '') yield { operator: 'method', start: property.start, end: property.end, text: other }
  else yield { operator: 'method', start: child(callee, 'object').end, end: node.end, text: '' }
}

function isTextual(node: Syntax): boolean {
  return node.type === 'TemplateLiteral' || (node.type === 'Literal' && typeof node['value'] === 'string')
}

/** A sentence is for people, and so are words in an error; the kind and the code of an error are not. */
function isProse(text: string, { inError }: Place): boolean {
  return inError ? /\S \S/.test(text) : /^[A-Z].* .*[.:]$/s.test(text)
}
