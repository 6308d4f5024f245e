/** Code that must run in a browser, or in the simulator, does not know Node. */
import { isBuiltin } from 'node:module'
import { unresolvedReferences } from './global-uses.ts'
import { importSource } from './imports.ts'
import { rule } from './rule.ts'

export const noNodeImports = rule('the machine is reached through the platform', (context) =>
  importSource((specifier, node) => {
    if (!isBuiltin(specifier)) return
    context.report({ node, message: `'${specifier}' is not imported here. Ask the Platform for it.` })
  }),
)

const NODE_GLOBALS: readonly string[] = ['Buffer', 'process', 'global', 'require', 'module', '__dirname', '__filename']

export const noNodeGlobals = rule('kernel and wire run in a browser', (context) => ({
  Program() {
    for (const { identifier } of unresolvedReferences(context)) {
      if (!NODE_GLOBALS.includes(identifier.name)) continue
      const message = `${identifier.name} exists only in Node, and this file also runs in a browser.`
      context.report({ node: identifier, message: `${message} Use what the web platform has.` })
    }
  },
}))
