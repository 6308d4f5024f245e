import { testSuite } from '../suite.ts'
import { BUDGET, PACER } from './pacer.ts'
import { LAST_SECOND } from './sliding-window.ts'

for (const { source, suite } of [BUDGET, PACER]) testSuite(source, suite)
testSuite(LAST_SECOND.source, LAST_SECOND.suite)
