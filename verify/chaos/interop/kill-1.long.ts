import { testKillSlice } from './kill-slice.ts'

testKillSlice(1)
