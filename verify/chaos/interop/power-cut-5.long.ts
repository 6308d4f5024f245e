import { testPowerCutSlice } from './power-cut-slice.ts'

testPowerCutSlice(5)
