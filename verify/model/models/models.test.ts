import { testSuite } from '../suite.ts'
import { KERNEL_SUITES } from './catalogue.ts'
import { KERNEL } from './cores.ts'

for (const suite of KERNEL_SUITES) testSuite(KERNEL, suite)
