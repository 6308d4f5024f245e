import { testSuite } from '../suite.ts'
import { COMMIT } from './commit.ts'
import { COMPACTION_AND_READS } from './compaction.ts'
import { STORE } from './cores.ts'
import { DEDUPE } from './dedupe.ts'
import { HOLDS } from './holds.ts'
import { RECOVERY } from './recovery.ts'
import { COMMIT_AND_ROUND, MISSING_AND_SWEEPER, PUT_AND_SWEEPER } from './sweeper.ts'

for (const suite of [
  COMMIT,
  DEDUPE,
  PUT_AND_SWEEPER,
  MISSING_AND_SWEEPER,
  COMMIT_AND_ROUND,
  HOLDS,
  COMPACTION_AND_READS,
  RECOVERY,
])
  testSuite(STORE, suite)
