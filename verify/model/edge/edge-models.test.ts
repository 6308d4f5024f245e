import { testSuite } from '../suite.ts'
import { EDGE } from './cores.ts'
import { FLIGHTS } from './flights.ts'
import { KEPT_CHUNKS } from './kept-chunks.ts'

for (const suite of [FLIGHTS, KEPT_CHUNKS]) testSuite(EDGE, suite)
