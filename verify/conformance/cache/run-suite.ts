/** `node run-suite.ts FOLDER BASE`, forked: one run of the suite, its verdicts sent to whoever forked it. */
import { runHere } from './suite.ts'

const [folder = '', base = ''] = process.argv.slice(2)
const verdicts = await runHere(folder, base)
// Connections it left open must not keep it.
process.send?.(verdicts, () => process.exit(0))
