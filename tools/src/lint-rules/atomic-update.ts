/**
 * The golden rule, as far as syntax can see it: what was read before an await is stale after it.
 *
 *   this.total += await cost()                           read, wait, write
 *   this.total = this.total + (await cost())             the same, spelled out
 *   if (this.page === undefined) this.page = await load()     two callers both load
 *   const total = this.total; await pause(); this.total = total + 1
 *   const total = counters.total; await pause(); counters.total = total + 1     a field of an object that came in
 *
 * A local that no inner function captures, and an object made here, cannot be changed by anyone else during the wait and
 * are not reported. Maps, sets and arrays are for `check-then-act.ts`.
 */
import {
  bare,
  type Context,
  childrenOf,
  enclosingFunction,
  isAfter,
  isInside,
  isSharedObject,
  type Kind,
  type Node,
  type Rule,
  rule,
  textOf,
  variableOf,
} from './rule.ts'

type Assignment = Kind<'AssignmentExpression'>

export const atomicUpdate: Rule = rule('a value read before an await is not written back after it', (context) => {
  const awaits: Node[] = []
  const assignments: Assignment[] = []
  return {
    AwaitExpression: (node) => void awaits.push(node),
    AssignmentExpression: (node) => void assignments.push(node),
    'Program:exit'() {
      for (const assignment of assignments) {
        if (!isShared(context, assignment.left)) continue
        const target = textOf(context, assignment.left)
        if (!isStale(context, assignment, target, awaits)) continue
        const message = `${target} may have changed during the await between reading and writing it.`
        const advice = 'Wait first, then read and write in one synchronous step (or commit through its owner).'
        context.report({ node: assignment, message: `${message} ${advice}` })
      }
    },
  }
})

function isStale(context: Context, assignment: Assignment, target: string, awaits: readonly Node[]): boolean {
  const here = enclosingFunction(assignment)
  const pauses = awaits.filter((pause) => enclosingFunction(pause) === here)
  if (pauses.some((pause) => isInside(pause, assignment.right))) {
    if (assignment.operator !== '=') return true
    const firstPause = pauses.find((pause) => isInside(pause, assignment.right))
    const readEarly = mentions(context, assignment.right, target).some((node) => !isAfter(node, firstPause))
    return readEarly || isGuardedBy(context, assignment, target)
  }
  return snapshotsOf(context, target, here).some(
    ({ snapshot, readers }) =>
      readers.some((reader) => isInside(reader, assignment.right)) &&
      pauses.some((pause) => isAfter(pause, snapshot) && isAfter(assignment, pause)),
  )
}

/** Whether anyone but this function can write the target while it waits. */
function isShared(context: Context, target: Node): boolean {
  const owner = bare(target)
  if (owner.type === 'MemberExpression') return isSharedObject(context, owner.object)
  if (owner.type !== 'Identifier') return false
  const variable = variableOf(context, owner)
  const here = enclosingFunction(owner)
  return variable?.references.some(({ identifier }) => enclosingFunction(identifier) !== here) ?? true
}

/** Whether the assignment runs only because of what an enclosing `if`, loop or `&&` read from the target. */
function isGuardedBy(context: Context, assignment: Node, target: string): boolean {
  for (let at: Node = assignment; at.parent !== null && enclosingFunction(at) !== undefined; at = at.parent) {
    const parent = at.parent
    const test =
      parent.type === 'IfStatement' || parent.type === 'WhileStatement' || parent.type === 'ConditionalExpression'
        ? parent.test
        : parent.type === 'LogicalExpression'
          ? parent.left
          : undefined
    if (test !== undefined && test !== at && mentions(context, test, target).length > 0) return true
    if (parent === enclosingFunction(assignment)) return false
  }
  return false
}

interface Snapshot {
  readonly snapshot: Node
  readonly readers: readonly Node[]
}

/** Constants of the function that hold what the target was when they were declared. */
function snapshotsOf(context: Context, target: string, here: Node | undefined): Snapshot[] {
  if (here === undefined) return []
  const scopes = context.sourceCode.scopeManager.scopes.filter((scope) => isInside(scope.block, here))
  return scopes
    .flatMap((scope) => scope.variables)
    .flatMap((variable) => {
      const declarator = variable.defs[0]?.node
      if (declarator?.type !== 'VariableDeclarator' || declarator.init === null) return []
      if (enclosingFunction(declarator) !== here || textOf(context, declarator.init) !== target) return []
      return [{ snapshot: declarator, readers: variable.references.map((reference) => reference.identifier) }]
    })
}

/** The places inside `root`, and not in a function it defines, where the target is read. */
function mentions(context: Context, root: Node, target: string): Node[] {
  const found: Node[] = []
  const here = enclosingFunction(root)
  const visit = (node: Node): void => {
    if (textOf(context, node) === target && enclosingFunction(node) === here) found.push(node)
    for (const child of childrenOf(context, node)) visit(child)
  }
  visit(root)
  return found
}
