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
