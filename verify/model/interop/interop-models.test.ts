import { testSuite } from '../suite.ts'
import { APPLIED_ONCE, LEASES } from './applied-once.ts'
import { AUDIT_RING } from './audit-ring.ts'
import { INTEROP, MAILBOX } from './cores.ts'

testSuite(INTEROP, APPLIED_ONCE)
testSuite(INTEROP, AUDIT_RING)
testSuite(MAILBOX, LEASES)
