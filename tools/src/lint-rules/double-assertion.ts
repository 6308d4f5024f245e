import { rule } from './rule.ts'

export const noDoubleAssertion = rule('a type is proved, not forced', (context) => ({
  TSAsExpression(node) {
    const inner = node.expression
    if (inner.type !== 'TSAsExpression') return
    const through = inner.typeAnnotation.type
    if (through !== 'TSUnknownKeyword' && through !== 'TSAnyKeyword') return
    const message = 'Two assertions through unknown force a type on a value. Check the value, or fix the type.'
    context.report({ node, message })
  },
}))
