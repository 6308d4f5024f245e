/** The storage service of the node a command is about, found and opened. */
import { CairnError, Cancel, Deadline, SystemClock } from '@cairn/kernel'
import { RealProcess } from '@cairn/platform'
import { Cairn } from '@cairn/sdk'
import { parseDuration } from '@cairn/wire'
import type { CommandContext } from './command.ts'
import { readToken, withNode } from './node-admin.ts'
import { tokenPath } from './places.ts'

type Context = Pick<CommandContext, 'given' | 'terminal'>

const PROBE_MS = 5000

/** Lets `use` talk to the service; a signal to this process aborts it, and what it had under way is over when this ends. */
export async function withStorage<T>(
  context: Context,
  use: (cairn: Cairn, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { storageUrl, token } = await findStorage(context)
  const timeout = context.given.text('timeout')
  const timeoutMs = timeout === undefined ? undefined : parseDuration(timeout)
  const interrupted = new AbortController()
  const stopHearing = new RealProcess().onSignal(() =>
    interrupted.abort(new CairnError('Canceled', 'Interrupted. The same command goes on where this one was.')),
  )
  try {
    return await use(new Cairn({ storageUrl, token, timeoutMs }), interrupted.signal)
  } finally {
    stopHearing()
  }
}

interface Place {
  readonly storageUrl: string
  readonly token: string | undefined
}

/** `--node` may name the storage service itself, for somebody who has no business with the rest of the node. */
async function findStorage(context: Context): Promise<Place> {
  const { given, terminal } = context
  const path = tokenPath(given, terminal.environment)
  const node = given.text('node') ?? ''
  if (/^https?:/.test(node) && (await isStorage(node))) return { storageUrl: node, token: await tokenIn(path) }
  const { services } = await withNode(context, async (admin) => await admin.status())
  const storageUrl = services.find(({ name }) => name === 'storage')?.urls.find((url) => url.startsWith('http'))
  if (storageUrl === undefined)
    throw new CairnError('Timeout', 'This node runs no storage service that can be reached from here.', {
      code: 'unreachable',
      status: 502,
    })
  return { storageUrl, token: await readToken(path) }
}

async function isStorage(node: string): Promise<boolean> {
  using cancel = new Cancel({ deadline: Deadline.after(new SystemClock(), PROBE_MS) })
  try {
    const response = await fetch(new URL('/version', node), { signal: cancel.signal })
    const version: unknown = await response.json()
    return typeof version === 'object' && version !== null && 'service' in version && version.service === 'storage'
  } catch {
    // Whatever is there, the question to the node will say what is wrong.
    return false
  }
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
