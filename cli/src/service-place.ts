/** Where a service of the node is that a command is about. */
import { CairnError, Cancel, Deadline, SystemClock } from '@cairn/kernel'
import type { CommandContext } from './command.ts'
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
  const { services } = await withNode(context, async (admin) => await admin.status())
  const url = services.find(({ name }) => name === service)?.urls.find((own) => own.startsWith('http'))
  if (url !== undefined) return { url, isNamed: false }
  throw new CairnError('Timeout', `This node runs no ${service} service that can be reached from here.`, {
    code: 'unreachable',
    status: 502,
  })
}

async function isService(node: string, service: string): Promise<boolean> {
  using cancel = new Cancel({ deadline: Deadline.after(new SystemClock(), PROBE_MS) })
  try {
    const response = await fetch(new URL('/version', node), { signal: cancel.signal })
    const version: unknown = await response.json()
    return typeof version === 'object' && version !== null && 'service' in version && version.service === service
  } catch {
    // Whatever is there, the question to the node will say what is wrong.
    return false
  }
}
