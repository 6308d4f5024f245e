/**
 * Finds every use of a global (or of a `node:` module that offers the same thing) and names it by its path.
 *
 *   Date.now()                          → Date, Date.now, Date.now()
 *   new Date()                          → Date, new Date()
 *   globalThis['Math'].random           → Math, Math.random
 *   const { race } = Promise            → Promise, Promise.race
 *   const P = Promise; P.any(legs)      → Promise, Promise.any, Promise.any()
 *   import { setTimeout as later } from 'node:timers/promises'; later(1)
 *                                       → setTimeout, setTimeout()
 *
 * A parameter or local of the same name is another thing and is not listed; nor is a mention in a type.
 */
import { type Context, type Kind, keyName, type Node, type Reference, type Variable } from './rule.ts'

interface Use {
  readonly path: string
  readonly node: Node
}

/** Modules that hand out what is otherwise a global, and the path their exports stand for. */
const MODULE_PATHS: ReadonlyMap<string, string> = new Map([
  ['timers', ''],
  ['timers/promises', ''],
  ['perf_hooks', ''],
  ['process', 'process'],
  ['crypto', 'crypto'],
])

const GLOBAL_OBJECTS: readonly string[] = ['globalThis', 'global', 'window', 'self']

const join = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`)

/** Every use of a global in the file, by path. */
export function globalUses(context: Context): Use[] {
  const uses: Use[] = []
  const seen = new Set<Variable>()

  /** Follows a value outward from where it is mentioned to the members taken from it. */
  const follow = (path: string, node: Node): void => {
    if (path !== '') uses.push({ path, node })
    const parent = node.parent
    if (parent === null) return
    switch (parent.type) {
      case 'ChainExpression':
      case 'ParenthesizedExpression':
      case 'TSAsExpression':
      case 'TSSatisfiesExpression':
      case 'TSNonNullExpression':
        follow(path, parent)
        break
      case 'MemberExpression': {
        const name = parent.object === node ? keyName(parent.property, parent.computed) : undefined
        if (name !== undefined) follow(join(path, name), parent)
        break
      }
      case 'NewExpression':
        if (parent.callee === node && parent.arguments.length === 0) uses.push({ path: `new ${path}()`, node: parent })
        break
      case 'CallExpression':
        if (parent.callee === node) uses.push({ path: `${path}()`, node: parent })
        break
      case 'VariableDeclarator':
        if (parent.init === node) followBinding(path, parent)
        break
      default:
    }
  }

  /** Follows a value into the names a declaration gives it: an alias, or members taken by destructuring. */
  const followBinding = (path: string, declarator: Kind<'VariableDeclarator'>): void => {
    if (declarator.id.type === 'ObjectPattern') {
      for (const property of declarator.id.properties) {
        if (property.type !== 'Property') continue
        const name = keyName(property.key, property.computed)
        if (name !== undefined) uses.push({ path: join(path, name), node: property })
      }
    } else {
      for (const variable of context.sourceCode.getDeclaredVariables(declarator)) followVariable(path, variable)
    }
  }

  const followVariable = (path: string, variable: Variable): void => {
    if (seen.has(variable)) return
    seen.add(variable)
    for (const reference of variable.references) if (reference.isRead()) followReference(path, reference)
  }

  const followReference = (path: string, reference: Reference): void => {
    if (reference.identifier.parent.type !== 'TSTypeQuery') follow(path, reference.identifier)
  }

  for (const reference of unresolvedReferences(context)) {
    const name = reference.identifier.name
    followReference(GLOBAL_OBJECTS.includes(name) ? '' : name, reference)
  }
  for (const statement of context.sourceCode.ast.body) {
    if (statement.type !== 'ImportDeclaration') continue
    const modulePath = MODULE_PATHS.get(statement.source.value.replace(/^node:/, ''))
    if (modulePath === undefined || statement.importKind === 'type') continue
    for (const specifier of statement.specifiers) {
      const path = specifier.type === 'ImportSpecifier' ? join(modulePath, importedName(specifier)) : modulePath
      for (const variable of context.sourceCode.getDeclaredVariables(specifier)) followVariable(path, variable)
    }
  }
  return uses
}

function importedName(specifier: Kind<'ImportSpecifier'>): string {
  return specifier.imported.type === 'Identifier' ? specifier.imported.name : specifier.imported.value
}

/** References that no declaration in the file accounts for. */
export function unresolvedReferences(context: Context): Reference[] {
  const globalScope = context.sourceCode.scopeManager.globalScope
  if (globalScope === null) return []
  const declaredNowhere = globalScope.variables.filter((variable) => variable.defs.length === 0)
  return [...globalScope.through, ...declaredNowhere.flatMap((variable) => variable.references)]
}
