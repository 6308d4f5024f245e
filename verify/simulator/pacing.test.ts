import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Pacing } from './pacing.ts'

const CHUNKS = 'request POST :7071 /c?object=b3:00 with 60 bytes'
const COPY = 'request PUT :7071 /o/b3:00?copy=1 with 60 bytes'

function sent(pacing: Pacing, from: string, to: string, what: string, at: number): void {
  pacing.see({ number: 1, from, to, what }, at)
}

test('what one node sends of repairs within a second is held against its budget', () => {
  const pacing = new Pacing(100)
  sent(pacing, 'oak', 'elm', COPY, 0)
  pacing.watch()
  sent(pacing, 'oak', 'elm', CHUNKS, 10)
  sent(pacing, 'oak', 'oak', COPY, 20)
  sent(pacing, 'elm', 'ash', COPY, 30)
  sent(pacing, 'oak', 'elm', 'request POST :7071 /copies/known with 60 bytes', 40)
  sent(pacing, 'oak', 'elm', 'request PUT :7073 /o/b3:00 with 60 bytes', 50)
  sent(pacing, 'oak', 'elm', COPY, 1010)
  pacing.check()
  sent(pacing, 'oak', 'elm', COPY, 1020)
  pacing.watch()
  sent(pacing, 'oak', 'elm', CHUNKS, 2000)
  sent(pacing, 'oak', 'ash', COPY, 2900)
  assert.throws(() => pacing.check(), /oak sent 120 bytes of repairs in a second, and has 100/)
})
