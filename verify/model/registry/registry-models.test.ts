import { testSuite } from '../suite.ts'
import { COMMITTER } from './committer.ts'
import { REGISTRY } from './cores.ts'

testSuite(REGISTRY, COMMITTER)
