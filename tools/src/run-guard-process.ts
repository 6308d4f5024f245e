/**
 * The process behind `run-guard.ts`. Its standard input ends when the run does, however that happens: then everything
 * that still carries the run's mark is killed, and the run's directory is removed.
 */
import { readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'

const [mark = '', directory = ''] = process.argv.slice(2)
/** A process may start another while it is being killed, so one look is not enough. */
const LOOKS = 50
const LOOK_EVERY_MS = 20
/** Time for what has been told to end when the run is over; after a run that was killed there is none. */
const GRACE_MS = 2000

interface Found {
  readonly pid: number
  readonly command: string
}

/** Every process whose environment holds the mark. Only Linux shows the environments of others as files. */
function marked(): readonly Found[] {
  if (process.platform !== 'linux') return []
  return readdirSync('/proc').flatMap((name) => {
    const pid = Number(name)
    if (!Number.isInteger(pid) || pid === process.pid) return []
    try {
      if (!readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(mark)) return []
      readlinkSync(`/proc/${pid}/exe`)
      return [{ pid, command: readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim() }]
    } catch {
      // It ended while we looked, or is only waiting for its parent to notice.
      return []
    }
  })
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It ended by itself.
  }
}

function endRun(graceMs: number): void {
  let grace = graceMs / LOOK_EVERY_MS
  let left = LOOKS
  const look = (): void => {
    const found = marked()
    if (found.length === 0 || left === 0) {
      rmSync(directory, { recursive: true, force: true })
      return
    }
    grace -= 1
    if (grace <= 0) {
      left -= 1
      for (const { pid, command } of found) {
        kill(pid)
        process.stdout.write(`${pid} ${command}\n`)
      }
    }
    setTimeout(look, LOOK_EVERY_MS)
  }
  look()
}

// Nobody reads any more when the run was killed.
process.stdout.on('error', () => {})
let isOver = false
process.stdin
  .on('data', () => {
    isOver = true
  })
  .on('error', () => {})
  .on('close', () => {
    endRun(isOver ? GRACE_MS : 0)
  })
