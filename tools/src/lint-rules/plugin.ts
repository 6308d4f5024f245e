/** What is never true in this repository, as lint rules. Where each applies is in .oxlintrc.json. */
import { layers } from '../layers.ts'
import { noAmbientRandomness, noAmbientTime, noProcessEvents, noRace } from './ambient.ts'
import { atomicUpdate } from './atomic-update.ts'
import { checkThenAct } from './check-then-act.ts'
import { noDoubleAssertion } from './double-assertion.ts'
import { noModuleState } from './module-state.ts'
import { noNodeGlobals, noNodeImports } from './node-free.ts'
import { syncCore } from './sync-core.ts'

export default {
  meta: { name: 'cairn' },
  rules: {
    'no-ambient-time': noAmbientTime,
    'no-ambient-randomness': noAmbientRandomness,
    'no-race': noRace,
    'no-process-events': noProcessEvents,
    'no-node-imports': noNodeImports,
    'no-node-globals': noNodeGlobals,
    'sync-core': syncCore,
    'no-module-state': noModuleState,
    'atomic-update': atomicUpdate,
    'check-then-act': checkThenAct,
    'no-double-assertion': noDoubleAssertion,
    layers,
  },
}
