import { testSuite } from '../suite.ts'
import { LAST_SECOND } from './last-second.ts'
import { BUDGET, PACER } from './pacer.ts'

for (const { source, suite } of [BUDGET, PACER]) testSuite(source, suite)
testSuite(LAST_SECOND.source, LAST_SECOND.suite)
