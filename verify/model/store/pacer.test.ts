import { testSuite } from '../suite.ts'
import { BUDGET, PACER } from './pacer.ts'

for (const { source, suite } of [BUDGET, PACER]) testSuite(source, suite)
