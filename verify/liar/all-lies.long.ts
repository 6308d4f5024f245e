import { test } from 'node:test'
import { liveWith } from './all-lies.ts'
import { LIE_NAMES } from './lies.ts'

for (const copies of [2, 3])
  for (const lie of LIE_NAMES)
    test(`${copies} copies, a peer that tells ${lie}`, async () => {
      for (let seed = 1; seed <= 3; seed += 1) await liveWith(lie, copies, seed)
    })
