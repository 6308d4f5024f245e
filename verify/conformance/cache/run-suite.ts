/** `node run-suite.ts FOLDER BASE [TEST…]`, forked: one run of the suite, its verdicts sent to its parent. */
import { registerHooks } from 'node:module'
import { runHere } from './suite.ts'

// A clone without its own dependencies: of those only undici is wanted by its client, and we have one.
registerHooks({
  resolve: (specifier, context, next) => {
    if (specifier !== 'undici') return next(specifier, context)
    return next(specifier, { ...context, parentURL: import.meta.url })
  },
})

const [folder = '', base = '', ...only] = process.argv.slice(2)
const verdicts = await runHere(folder, base, only)
// Connections it left open must not keep it.
process.send?.(verdicts, () => process.exit(0))
