import { testSuite } from '../suite.ts'
import { STORAGE } from './cores.ts'
import { LIAR } from './liar.ts'

testSuite(STORAGE, LIAR)
