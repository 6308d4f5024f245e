/** A `*-core.ts` file holds decisions only: the model checker runs it one synchronous step at a time. */
import { type Node, rule } from './rule.ts'

const ASYNCHRONOUS: readonly string[] = ['Promise', 'PromiseLike', 'AsyncIterable', 'AsyncIterator', 'AsyncGenerator']

export const syncCore = rule('a core never waits', (context) => {
  const report = (node: Node, what: string): void => {
    context.report({ node, message: `A core never waits, and this is ${what}. Return the decision; the shell waits.` })
  }
  const asyncFunction = (node: Node & { readonly async: boolean }): void => {
    if (node.async) report(node, 'an async function')
  }
  return {
    FunctionDeclaration: asyncFunction,
    FunctionExpression: asyncFunction,
    ArrowFunctionExpression: asyncFunction,
    AwaitExpression: (node) => report(node, 'an await'),
    ForOfStatement: (node) => {
      if (node.await) report(node, 'an await')
    },
    VariableDeclaration: (node) => {
      if (node.kind === 'await using') report(node, 'an await')
    },
    Identifier: (node) => {
      if (ASYNCHRONOUS.includes(node.name)) report(node, `a ${node.name}`)
    },
  }
})
