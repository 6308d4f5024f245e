/**
 * A module holds constants, types, functions and classes; what changes lives in an object somebody built.
 *
 * Reported: a top-level `let` or `var`; a static field that is not readonly; a top-level collection that is
 * empty, changed inside a function, or exported in a changeable type; a top-level instance of a class that is
 * not known to be immutable. Filling a constant table while the module loads is fine.
 */
import { bare, type Context, enclosingFunction, type Kind, keyName, type Node, type Rule, rule } from './rule.ts'

const words = (list: string): readonly string[] => list.split(' ')

const COLLECTIONS = words('Map Set WeakMap WeakSet Array')
const READONLY_TYPES = words('Readonly ReadonlyMap ReadonlySet ReadonlyArray')
const MUTATORS = words('set add delete clear push pop shift unshift splice sort reverse fill copyWithin')
/** Functions of `Object` and `Reflect` that change their first argument. */
const OUTSIDE_MUTATORS = words('assign defineProperty defineProperties setPrototypeOf set')
/** Classes whose instances do not change by use, or are plain memory judged by whether a function writes to it. */
const VALUE_CLASSES = [
  ...words('RegExp URL TextEncoder TextDecoder Intl WebAssembly.Module ArrayBuffer DataView'),
  ...words('Uint8Array Uint16Array Uint32Array Int8Array Int16Array Int32Array Uint8ClampedArray'),
  ...words('Float32Array Float64Array BigInt64Array BigUint64Array'),
]

type Verdict = 'fine' | 'changes' | 'empty' | 'exported' | 'instance'

const REASONS: Readonly<Record<Exclude<Verdict, 'fine'>, string>> = {
  changes: 'is changed by a function of this module',
  empty: 'starts empty, so somebody must fill it later',
  exported: 'is exported in a type that lets anybody change it; type it readonly, or',
  instance: 'is an object with a life of its own, shared by everyone who imports this module',
}

export const noModuleState: Rule = rule('a module has no state of its own', (context) => {
  const report = (node: Node, what: string): void => {
    context.report({ node, message: `${what}. Keep it in an object that is built and handed in.` })
  }
  return {
    Program(program) {
      const exported = exportedNames(program)
      for (const statement of program.body) {
        const declaration = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement
        if (declaration?.type !== 'VariableDeclaration' || declaration.declare === true) continue
        if (declaration.kind === 'let' || declaration.kind === 'var') {
          report(declaration, `A top-level ${declaration.kind} is state that every test and every service shares`)
          continue
        }
        for (const declarator of declaration.declarations) {
          const verdict = judge(context, declarator, exported)
          if (verdict === 'fine') continue
          report(declarator, `${context.sourceCode.getText(declarator.id)} ${REASONS[verdict]}`)
        }
      }
    },
    PropertyDefinition(node) {
      if (!node.static || node.value === null) return
      if (node.readonly !== true) report(node, 'A static field that can be assigned is state that everyone shares')
      else if (isCollection(bare(node.value)) && !isReadonlyType(node.typeAnnotation?.typeAnnotation)) {
        report(node, 'A static collection is state that everyone shares, unless its type is readonly')
      }
    },
  }
})

function exportedNames(program: Kind<'Program'>): Set<string> {
  const names = new Set<string>()
  for (const statement of program.body) {
    if (statement.type !== 'ExportNamedDeclaration') continue
    for (const specifier of statement.specifiers) {
      if (specifier.local.type === 'Identifier') names.add(specifier.local.name)
    }
    if (statement.declaration?.type !== 'VariableDeclaration') continue
    for (const { id } of statement.declaration.declarations) if (id.type === 'Identifier') names.add(id.name)
  }
  return names
}

function judge(context: Context, declarator: Kind<'VariableDeclarator'>, exported: Set<string>): Verdict {
  const { id, init } = declarator
  if (id.type !== 'Identifier' || init === null) return 'fine'
  const value = bare(init)
  const isReadonly = isReadonlyType(id.typeAnnotation?.typeAnnotation) || isConstAssertion(init)
  if (isCollection(value)) {
    if (isReadonly) return 'fine'
    if (isEmpty(value)) return 'empty'
    if (isChanged(context, declarator)) return 'changes'
    return exported.has(id.name) ? 'exported' : 'fine'
  }
  if (value.type === 'ObjectExpression') return isChanged(context, declarator) ? 'changes' : 'fine'
  if (value.type === 'NewExpression') {
    const name = calleeName(value.callee)
    if (!VALUE_CLASSES.some((known) => name === known || name.startsWith(`${known}.`))) return 'instance'
    return isChanged(context, declarator) ? 'changes' : 'fine'
  }
  return 'fine'
}

function calleeName(callee: Node): string {
  if (callee.type === 'Identifier') return callee.name
  if (callee.type !== 'MemberExpression') return ''
  return `${calleeName(callee.object)}.${keyName(callee.property, callee.computed) ?? ''}`
}

function isCollection(value: Node): boolean {
  if (value.type === 'ArrayExpression') return true
  return value.type === 'NewExpression' && COLLECTIONS.includes(calleeName(value.callee))
}

function isEmpty(value: Node): boolean {
  if (value.type === 'ArrayExpression') return value.elements.length === 0
  return value.type === 'NewExpression' && value.arguments.length === 0
}

function isReadonlyType(type: Node | null | undefined): boolean {
  if (type?.type === 'TSTypeOperator') return type.operator === 'readonly'
  return (
    type?.type === 'TSTypeReference' &&
    type.typeName.type === 'Identifier' &&
    READONLY_TYPES.includes(type.typeName.name)
  )
}

function isConstAssertion(init: Node): boolean {
  if (init.type === 'TSSatisfiesExpression') return isConstAssertion(init.expression)
  if (init.type !== 'TSAsExpression' || init.typeAnnotation.type !== 'TSTypeReference') return false
  const name = init.typeAnnotation.typeName
  return name.type === 'Identifier' && name.name === 'const'
}

/** Whether a function of the module writes to the value; writes made while the module loads build a constant. */
function isChanged(context: Context, declarator: Kind<'VariableDeclarator'>): boolean {
  const references = context.sourceCode.getDeclaredVariables(declarator).flatMap((variable) => variable.references)
  return references.some(({ identifier }) => isWrite(identifier) && enclosingFunction(identifier) !== undefined)
}

function isWrite(identifier: Node): boolean {
  const owner = identifier.parent
  if (owner?.type === 'CallExpression' && owner.arguments[0] === identifier) {
    const [object, method] = calleeName(owner.callee).split('.')
    return (object === 'Object' || object === 'Reflect') && OUTSIDE_MUTATORS.includes(method ?? '')
  }
  let member: Node = identifier
  while (member.parent?.type === 'MemberExpression' && member.parent.object === member) member = member.parent
  const parent = member.parent
  if (member.type !== 'MemberExpression' || parent === null) return false
  switch (parent.type) {
    case 'AssignmentExpression':
      return parent.left === member
    case 'UpdateExpression':
      return true
    case 'UnaryExpression':
      return parent.operator === 'delete'
    case 'CallExpression':
      return parent.callee === member && MUTATORS.includes(keyName(member.property, member.computed) ?? '')
    default:
      return false
  }
}
