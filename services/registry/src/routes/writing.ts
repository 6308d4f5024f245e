/** The way of a write to the Committer, on behalf of a request. */
import { isKind } from '@cairn/kernel'
import type { Answer, Command } from '../domain/commands.ts'
import { onlyReads } from '../errors.ts'
import type { RegistryParts } from '../parts.ts'
import { writeProblem } from '../tasks/health-gate.ts'
import type { AnyContext } from './params.ts'

/** Refusals that every write can meet. */
export const writeErrors = { Busy: 429, NotReady: 503, StorageBusy: 503, Timeout: 504, no_space: 507 } as const

/** Puts the command in line and waits for what becomes of it, no longer than the request may take. */
export async function askCommitter(parts: RegistryParts, context: AnyContext, command: Command): Promise<Answer> {
  requireWritable(parts)
  try {
    return await parts.intake.ask(command, context)
  } catch (error) {
    if (isKind(error, 'Timeout')) parts.runtime.metrics.count('io_timeouts_total', { op: 'commit' })
    throw error
  }
}

/** Writes that cannot succeed now are refused at once, before they wait for anything. */
function requireWritable(parts: RegistryParts): void {
  const why = writeProblem(parts)
  if (why === undefined) return
  throw onlyReads(why)
}
