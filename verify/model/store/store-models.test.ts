import { testSuite } from '../suite.ts'
import { COMPACTION_AND_READS } from './compaction.ts'
import { STORE } from './cores.ts'
import { DEDUPE } from './dedupe.ts'
import { MISSING_AND_SWEEPER, PUT_AND_SWEEPER } from './sweeper.ts'

for (const suite of [DEDUPE, PUT_AND_SWEEPER, MISSING_AND_SWEEPER, COMPACTION_AND_READS]) testSuite(STORE, suite)
