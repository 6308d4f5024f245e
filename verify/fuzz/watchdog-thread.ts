import { appendFileSync, mkdirSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { workerData } from 'node:worker_threads'
import type { Watch } from './watchdog.ts'

/** Looks in a row that find the same input. Many, since of a process that was stopped only one look comes too late. */
const LOOKS = 10
const STDERR = 2

const { count, input, crashers, timeoutMs } = workerData as Watch
const nobody = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
let seen = 0
for (let looks = 0; looks < LOOKS; ) {
  Atomics.wait(nobody, 0, 0, timeoutMs / LOOKS)
  const begun = Atomics.load(count, 0)
  looks = begun > 0 && begun === seen ? looks + 1 : 0
  seen = begun
}
const line = Buffer.from(input.slice(0, count[1])).toString('base64')
mkdirSync(dirname(crashers), { recursive: true })
appendFileSync(crashers, `${line}\n`)
// Not by way of `process.stderr`: that of a thread is written by the one that goes round.
writeSync(STDERR, `It does not end. The input is kept in ${crashers}:\n  ${line}\n`)
// Nothing gentler reaches a thread that goes round.
process.kill(process.pid, 'SIGKILL')
