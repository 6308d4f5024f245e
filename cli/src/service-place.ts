/** Where a service of the node is that a command is about. */
import { CairnError, Cancel, Deadline, isKind, SystemClock } from '@cairn/kernel'
import type { NodeStatus } from '@cairn/node'
import type { CommandContext } from './command.ts'
import { isThisMachine, reachable } from './credentials.ts'
import { withNode } from './node-admin.ts'

type Context = Pick<CommandContext, 'given' | 'terminal'>

interface ServicePlace {
  readonly url: string
  /** `--node` named the service itself, for somebody who has no business with the rest of the node. */
  readonly isNamed: boolean
}

const PROBE_MS = 5000

/** The URL of the service: what `--node` names if that is the service itself, else what the node says. */
export async function findService(context: Context, service: string): Promise<ServicePlace> {
  const node = context.given.text('node') ?? ''
  if (/^https?:/.test(node) && (await isService(node, service))) return { url: node, isNamed: true }
  const { services } = await statusOf(context)
  const own = services.find(({ name }) => name === service)?.urls.find((each) => each.startsWith('http'))
  const url = own === undefined ? undefined : reachable(own)
  const at = url === undefined ? null : URL.parse(url)
  if (url === undefined || at === null)
    throw unreachable(`This node runs no ${service} service that can be reached from here.`)
  // There, loopback is the other machine; here it would be whatever listens on that port of this one.
  const asked = URL.parse(node)
  if (/^https?:/.test(node) && asked !== null && !isThisMachine(asked) && isThisMachine(at))
    throw unreachable(`The ${service} of the node at ${asked.origin} listens on ${at.host} of its own machine only.`)
  return { url, isNamed: false }
}

/**
 * A token that is for the service alone does not let its bearer ask the node where that is; on this machine the data
 * directory has one that does, and the service is still shown only the token that was named.
 */
async function statusOf({ given, terminal }: Context): Promise<NodeStatus> {
  const ask = async (asked: Context['given']): Promise<NodeStatus> =>
    await withNode({ given: asked, terminal }, async (admin) => await admin.status())
  try {
    return await ask(given)
  } catch (error) {
    const isRefused = isKind(error, 'Unauthorized') || isKind(error, 'Forbidden')
    if (!isRefused || given.text('node') !== undefined || given.text('token-file') === undefined) throw error
    try {
      return await ask(given.without('token-file'))
    } catch {
      throw error
    }
  }
}

function unreachable(detail: string): CairnError {
  return new CairnError('Timeout', detail, { code: 'unreachable', status: 502 })
}

async function isService(node: string, service: string): Promise<boolean> {
  using cancel = new Cancel({ deadline: Deadline.after(new SystemClock(), PROBE_MS) })
  try {
    const response = await fetch(new URL('/version', node), { signal: cancel.signal, redirect: 'error' })
    const version: unknown = await response.json()
    return typeof version === 'object' && version !== null && 'service' in version && version.service === service
  } catch {
    // Whatever is there, the question to the node will say what is wrong.
    return false
  }
}
