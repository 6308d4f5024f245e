import { test } from 'node:test'
import { liveWith } from './all-lies.ts'
import type { LieName } from './lies.ts'

/** One of each kind; `all-lies.long.ts` tells every lie. */
const SOME: readonly (readonly [LieName, number])[] = [
  ['copies without bytes', 2],
  ['owners that do not exist', 3],
  ['deletes nothing it says it deleted', 2],
  ['replayed records', 2],
]

for (const [lie, copies] of SOME)
  test(`${copies} copies, a peer that tells ${lie}: nothing is lost, hidden or kept for good, and writes go on`, async () => {
    await liveWith(lie, copies, 1)
  })
