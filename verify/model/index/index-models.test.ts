import { testSuite } from '../suite.ts'
import { CACHE } from './cache.ts'
import { INDEX } from './cores.ts'
import { LOOKUP } from './lookup.ts'

testSuite(INDEX, LOOKUP)
testSuite(INDEX, CACHE)
