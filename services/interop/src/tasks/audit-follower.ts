/** Copies lines of the audit, once they are durable, to the sink beside the journal: a file, or the log. */
import { sleep, type TaskBody } from '@cairn/kernel'
import type { DiskFile, Platform } from '@cairn/platform'
import { seqOf } from '../domain/audit-chain.ts'
import type { InteropParts } from '../parts.ts'

const FOLLOW_MS = 1000
const LINES_MAX = 500

export function auditFollower(platform: Platform, parts: InteropParts, directory: string): TaskBody {
  const { sink } = parts.config().audit
  return async ({ draining }) => {
    if (sink === 'memory') return
    await using file =
      sink === 'file' ? await platform.disk.open(`${directory}/audit.log`, { mode: 'append' }) : undefined
    let next = await firstMissing(file, parts)
    for (;;) {
      const lines = await parts.ledger.lines(next, LINES_MAX)
      if (lines.length > 0) {
        await write(platform, file, lines)
        platform.metrics.count('audit_emitted_total', { sink }, lines.length)
        next = seqOf(lines.at(-1) ?? '{}') + 1
      }
      if (lines.length < LINES_MAX) await sleep(platform.clock, FOLLOW_MS, { signal: draining })
    }
  }
}

/** A file goes on where it ends; the log says what comes from now on. */
async function firstMissing(file: DiskFile | undefined, { chain }: InteropParts): Promise<number> {
  if (file === undefined) return chain.count + 1
  const size = await file.size()
  const tail = new Uint8Array(Math.min(size, TAIL_BYTES))
  await file.read(size - tail.length, tail)
  const complete = new TextDecoder().decode(tail).split('\n').slice(0, -1)
  const last = complete.at(-1)
  if (last === undefined) return chain.first
  return seqOf(last) + 1
}

/** More than the longest line. */
const TAIL_BYTES = 16 * 1024

async function write({ log }: Platform, file: DiskFile | undefined, lines: readonly string[]): Promise<void> {
  if (file !== undefined) {
    await file.append([new TextEncoder().encode(`${lines.join('\n')}\n`)])
    return
  }
  for (const line of lines) log.info({ audit: line }, 'audit')
}
