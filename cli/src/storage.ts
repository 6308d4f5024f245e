/** The storage service of the node a command is about, found and opened. */
import { CairnError } from '@cairn/kernel'
import { keepHeapSmall, RealProcess } from '@cairn/platform'
import { Cairn } from '@cairn/sdk'
import { parseDuration } from '@cairn/wire'
import type { CommandContext } from './command.ts'
import { fetchInPlace } from './large-bodies.ts'
import { readToken } from './node-admin.ts'
import { tokenPath } from './places.ts'
import { findService } from './service-place.ts'

type Context = Pick<CommandContext, 'given' | 'terminal'>

/** Lets `use` talk to the service; a signal to this process aborts it, and what it had under way is over when this ends. */
export async function withStorage<T>(
  context: Context,
  use: (cairn: Cairn, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  keepHeapSmall()
  const { storageUrl, token } = await findStorage(context)
  const timeout = context.given.text('timeout')
  const timeoutMs = timeout === undefined ? undefined : parseDuration(timeout)
  const interrupted = new AbortController()
  const stopHearing = new RealProcess().onSignal(() =>
    interrupted.abort(new CairnError('Canceled', 'Interrupted. The same command goes on where this one was.')),
  )
  try {
    return await use(new Cairn({ storageUrl, token, timeoutMs, fetch: fetchInPlace }), interrupted.signal)
  } finally {
    stopHearing()
  }
}

interface Place {
  readonly storageUrl: string
  readonly token: string | undefined
}

async function findStorage(context: Context): Promise<Place> {
  const path = tokenPath(context.given, context.terminal.environment)
  const { url, isNamed } = await findService(context, 'storage')
  return { storageUrl: url, token: isNamed ? await tokenIn(path) : await readToken(path) }
}

/** Reading needs no token, as a rule. */
async function tokenIn(path: string): Promise<string | undefined> {
  try {
    return await readToken(path)
  } catch (error) {
    if (error instanceof CairnError && error.code === 'no_token') return undefined
    throw error
  }
}
