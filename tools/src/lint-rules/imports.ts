import type { Node, Visitor } from './rule.ts'

/** A visitor that hands over each module specifier the file imports or re-exports, types included. */
export function importSource(found: (specifier: string, node: Node) => void): Visitor {
  const literal = (node: Node | null): void => {
    if (node?.type === 'Literal' && typeof node.value === 'string') found(node.value, node)
  }
  return {
    ImportDeclaration: (node) => literal(node.source),
    ExportNamedDeclaration: (node) => literal(node.source),
    ExportAllDeclaration: (node) => literal(node.source),
    ImportExpression: (node) => literal(node.source),
    TSImportType: (node) => literal(node.source),
  }
}
