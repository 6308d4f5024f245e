/**
 * The golden rule for maps, sets and arrays: what was asked before an await may be untrue after it.
 *
 *   const total = totals.get(key); await pause(); totals.set(key, total + 1)
 *   if (!this.#pages.has(key)) this.#pages.set(key, await load())
 *   if (this.#line.length >= max) throw full; await pause(); this.#line.push(item)
 *
 * A question asked again after the last await answers for the write. A collection that was made here and that no inner
 * function captures is nobody else's, and is not reported.
 */
import {
  type Context,
  enclosingFunction,
  isAfter,
  isInside,
  isSharedObject,
  type Kind,
  keyName,
  type Node,
  type Rule,
  rule,
  textOf,
} from './rule.ts'

type Call = Kind<'CallExpression'>

const LIST: readonly string[] = ['length', 'at', 'includes', 'indexOf', 'find', 'findIndex', 'some']
/** For what changes a collection, the questions about one of its kind. */
const QUESTIONS: Readonly<Record<string, readonly string[]>> = {
  set: ['get', 'has', 'size'],
  add: ['has', 'size'],
  push: LIST,
  unshift: LIST,
  splice: LIST,
}
const ASKS = new Set(Object.values(QUESTIONS).flat())

/** A place where a collection is asked, or changed. */
interface Access {
  readonly node: Node
  readonly name: string
  readonly collection: Node
  readonly text: string
}

export const checkThenAct: Rule = rule('a collection is not changed on what it said before an await', (context) => {
  const awaits: Node[] = []
  const asked: Access[] = []
  const changed: (Access & { readonly node: Call })[] = []
  return {
    AwaitExpression: (node) => void awaits.push(node),
    MemberExpression(node) {
      const name = keyName(node.property, node.computed)
      if (name === undefined) return
      const access = { name, collection: node.object, text: textOf(context, node.object) }
      if (ASKS.has(name)) asked.push({ node, ...access })
      const call = node.parent
      if (name in QUESTIONS && call.type === 'CallExpression' && call.callee === node)
        changed.push({ node: call, ...access })
    },
    'Program:exit'() {
      for (const change of changed) {
        const here = enclosingFunction(change.node)
        if (here === undefined || !isSharedObject(context, change.collection)) continue
        const isHere = (node: Node): boolean => enclosingFunction(node) === here
        // An await among the arguments ends before the call, but after the question.
        const pause = awaits.findLast(
          (each) => isHere(each) && each.start < change.node.end && leadsTo(each, change.node),
        )
        if (pause === undefined) continue
        const kinds = QUESTIONS[change.name] ?? []
        const questions = asked.filter(
          ({ node, name, text }) => text === change.text && kinds.includes(name) && isHere(node),
        )
        if (questions.some(({ node }) => isAfter(node, pause) && node.end <= change.node.end)) continue
        const stale = questions.find(({ node }) => isAfter(pause, node) && decides(context, node, change.node))
        if (stale === undefined) continue
        const message = `${change.text} may have changed during the await between asking and changing it.`
        const advice = 'Wait first, then ask and change in one synchronous step (or ask again after the wait).'
        context.report({ node: change.node, message: `${message} ${advice}` })
      }
    },
  }
})

/** Whether the change depends on the answer: by a test around it, a test that would have left before it, or a constant. */
function decides(context: Context, question: Node, change: Node): boolean {
  for (let at: Node = question; at.parent !== null; at = at.parent) {
    const parent = at.parent
    if (parent.type === 'VariableDeclarator')
      return parent.id.type === 'Identifier' && isUsed(context, parent.id, change)
    if (parent.type === 'IfStatement' && parent.test === at)
      return (
        isInside(change, parent.consequent) ||
        (parent.alternate !== null && isInside(change, parent.alternate)) ||
        leaves(parent.consequent)
      )
    if (parent.type === 'WhileStatement' && parent.test === at) return isInside(change, parent.body)
    if (parent.type === 'ConditionalExpression' && parent.test === at) return isInside(change, parent)
    if (parent.type === 'LogicalExpression' && parent.left === at && isInside(change, parent.right)) return true
    if (parent === enclosingFunction(question)) return false
  }
  return false
}

/** Whether the change, or a test that leads to it, reads the constant. */
function isUsed(context: Context, name: Kind<'Identifier'>, change: Node): boolean {
  const variables = context.sourceCode.getDeclaredVariables(name.parent)
  return variables.some(({ references }) =>
    references.some(
      ({ identifier }) =>
        isAfter(identifier, name) && (isInside(identifier, change) || decides(context, identifier, change)),
    ),
  )
}

/** Whether the change may follow the await: one in a branch that leaves, or in the other branch, ends elsewhere. */
function leadsTo(pause: Node, change: Node): boolean {
  for (let at: Node = pause; at.parent !== null; at = at.parent) {
    if (isInside(change, at)) return true
    if (at.parent.type === 'IfStatement' && at !== at.parent.test) {
      const isBesideIt = isInside(change, at.parent)
      if (isBesideIt || leaves(at)) return false
    }
  }
  return true
}

/** Whether a branch always ends the function or the turn of the loop. */
function leaves(branch: Node): boolean {
  if (branch.type === 'BlockStatement') return branch.body.some(leaves)
  return ['ReturnStatement', 'ThrowStatement', 'ContinueStatement', 'BreakStatement'].includes(branch.type)
}
