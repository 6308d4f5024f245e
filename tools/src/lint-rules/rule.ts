/** The linter's plugin types. It publishes them only through its rule tester, so they are taken from there. */
import type { RuleTester } from 'oxlint/plugins-dev'

export type Rule = Exclude<Parameters<RuleTester['run']>[1], { createOnce: unknown }>
export type Context = Parameters<Rule['create']>[0]
export type Visitor = ReturnType<Rule['create']>
export type Node = Parameters<Context['sourceCode']['getScope']>[0]
export type Kind<Type extends Node['type']> = Extract<Node, { type: Type }>
export type Variable = ReturnType<Context['sourceCode']['getDeclaredVariables']>[number]
export type Reference = Variable['references'][number]

/** A rule whose messages are made on the spot; the first sentence says what is wrong, the second what to do. */
export function rule(description: string, create: (context: Context) => Visitor): Rule {
  return { meta: { type: 'problem', docs: { description } }, create }
}

/** The name a member or property key states in the source; undefined where only running the code would tell. */
export function keyName(key: Node, computed: boolean): string | undefined {
  if (key.type === 'Identifier' && !computed) return key.name
  if (key.type === 'Literal' && typeof key.value === 'string') return key.value
  return undefined
}

/** The expression inside parentheses, assertions and optional chains, none of which change the value. */
export function bare(node: Node): Node {
  switch (node.type) {
    case 'ChainExpression':
    case 'ParenthesizedExpression':
    case 'TSAsExpression':
    case 'TSSatisfiesExpression':
    case 'TSTypeAssertion':
    case 'TSNonNullExpression':
      return bare(node.expression)
    default:
      return node
  }
}

const FUNCTIONS: readonly Node['type'][] = ['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression']

/** The function whose body holds the node, if it is inside one. */
export function enclosingFunction(node: Node): Node | undefined {
  for (let at: Node | null = node.parent; at !== null; at = at.parent) {
    if (FUNCTIONS.includes(at.type)) return at
  }
  return undefined
}

export function childrenOf(context: Context, node: Node): Node[] {
  const children: Node[] = []
  const fields: Readonly<Record<string, unknown>> = { ...node }
  for (const key of context.sourceCode.visitorKeys[node.type] ?? []) {
    const field = fields[key]
    for (const child of Array.isArray(field) ? field : [field]) if (isNode(child)) children.push(child)
  }
  return children
}

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && 'type' in value
export const textOf = (context: Context, node: Node): string => context.sourceCode.getText(bare(node))
export const isInside = (inner: Node, outer: Node): boolean => inner.start >= outer.start && inner.end <= outer.end
export const isAfter = (node: Node, earlier: Node | undefined): boolean =>
  earlier !== undefined && node.start >= earlier.end

/** The variable that an identifier names; undefined for a global. */
export function variableOf(context: Context, node: Kind<'Identifier'>): Variable | undefined {
  for (let scope = context.sourceCode.getScope(node); ; scope = scope.upper) {
    const variable = scope.set.get(node.name)
    if (variable !== undefined || scope.upper === null) return variable
  }
}

/** Methods that hand out what a collection holds, so that others hold it too. */
const HANDS_OUT: readonly string[] = ['get', 'at', 'find', 'findLast', 'peek']

/**
 * Whether anyone but the function around it can hold the object: it is `this`, came in as a parameter, is a field of such
 * an object, or a local that is captured or was taken from one. What a call returns counts as made for the caller, but for
 * what a collection hands out.
 */
export function isSharedObject(context: Context, object: Node): boolean {
  const node = bare(object)
  if (node.type === 'ThisExpression') return true
  if (node.type === 'MemberExpression') return isSharedObject(context, node.object)
  if (node.type === 'CallExpression') {
    const callee = bare(node.callee)
    if (callee.type !== 'MemberExpression') return false
    return HANDS_OUT.includes(keyName(callee.property, callee.computed) ?? '') && isSharedObject(context, callee.object)
  }
  if (node.type !== 'Identifier') return false
  const variable = variableOf(context, node)
  if (variable === undefined) return true
  const here = enclosingFunction(node)
  const [definition] = variable.defs
  if (definition === undefined || definition.type === 'Parameter') return true
  const declarator = definition.node
  if (declarator.type !== 'VariableDeclarator' || enclosingFunction(declarator) !== here) return true
  // The variable of a `for … of` has no value of its own.
  return declarator.init !== null && isSharedObject(context, declarator.init)
}
