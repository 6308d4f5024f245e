import { readObject } from '@cairn/clients'
import type { Ingress } from '@cairn/http'
import { type Clock, Deadline, type Health, isKind, sleep, toCairnError } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'
import { InProcessTransport, unixUrl } from '@cairn/transport'
import type { NodeStatus } from './routes.ts'
import { NODE_TOPOLOGY } from './topology.ts'

type ReadyzFields = Readonly<Record<string, unknown>>

interface DescribedService {
  readonly name: string
  readonly running: {
    readonly urls: readonly string[]
    readonly health: Pick<Health, 'readiness'>
    readonly ingress: Pick<Ingress, 'handle'>
  }
  summary(): Promise<string>
}

/** `/readyz` is answered at once; a service that takes longer is judged by its conditions. */
const READYZ_MS = 1000
const READYZ_BYTES_MAX = 256 * 1024

/**
 * Where a service listens, whether it is ready, and a line about it. What is wrong is read from its own `/readyz`, so that
 * a person and a probe are told the same. Somebody asks when a drive fails, so one that cannot be read takes only the
 * line: it says what is wrong instead.
 */
export async function serviceStatus(service: DescribedService, clock: Clock): Promise<NodeStatus['services'][number]> {
  const { name, running } = service
  const summary = await service.summary().catch((error: unknown) => toCairnError(error).message)
  const fields = await readyzOf(service, clock)
  const { ready } = fields
  const missing = textsIn(fields['missing'])
  // While it drains, its conditions are all met.
  const why = ready === true || missing.length > 0 ? missing : textsIn([fields['detail']])
  const notices = noticesIn(fields)
  const status = {
    name,
    urls: running.urls,
    ready: ready === true,
    missing: why,
    concerns: concernsIn(fields),
    summary,
  }
  return notices.length === 0 ? status : { ...status, notices }
}

async function readyzOf({ running }: DescribedService, clock: Clock): Promise<ReadyzFields> {
  const transport = new InProcessTransport(running.ingress)
  try {
    const url = new URL('http://localhost/readyz')
    const deadline = Deadline.after(clock, READYZ_MS)
    return await readObject(await transport.request({ method: 'GET', url, headers: {}, deadline }), READYZ_BYTES_MAX)
  } catch (error) {
    const { ready, missing } = running.health.readiness.value
    return { ready, missing, readyz_problem: toCairnError(error).message }
  } finally {
    await transport.close()
  }
}

/** What a service that serves says is wrong with it, a sentence each. */
export function concernsIn(fields: ReadyzFields): readonly string[] {
  const problems = Object.entries(fields).flatMap(([key, value]) => (key.endsWith('_problem') ? textsIn([value]) : []))
  const remoteServices = Object.entries(fieldsIn(fields['neighbours'])).flatMap(([name, state]) => {
    const { ready, why } = fieldsIn(state)
    return ready === true
      ? []
      : [`The ${name} cannot be worked with: ${textsIn([why]).join('') || 'no reason is given'}.`]
  })
  const { status, detail } = fieldsIn(fields['registry'])
  const isAway = status === 'unreachable' || status === 'refused'
  const registry = isAway ? [`The registry is ${status}: ${textsIn([detail]).join('') || 'no reason is given'}`] : []
  const found = [...problems, ...remoteServices, ...registry]
  if (found.length > 0 || fields['degraded'] !== true || fields['ready'] !== true) return found
  return ['It is degraded; its /readyz says how.']
}

/** What harms nothing that is served, and an operator should know, a sentence each. */
function noticesIn(fields: ReadyzFields): readonly string[] {
  return Object.entries(fields).flatMap(([key, value]) => (key.endsWith('_notice') ? textsIn([value]) : []))
}

function fieldsIn(value: unknown): ReadyzFields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as ReadyzFields) : {}
}

function textsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((text) => typeof text === 'string') : []
}

const UNIX = 'unix:'
const AGAIN_MS = 20

/**
 * Asks a service the way a client would, until it is ready or has had its time; returns what it said last if it is not.
 * "Started" means that it answered: one that is not ready runs all the same, since a full drive is freed through it.
 */
export async function probe(platform: Platform, url: string): Promise<string | undefined> {
  // A certificate is made for the name clients use, which is not ours to know; such a port is not asked.
  if (url.startsWith('https:')) return undefined
  const { clock } = platform
  const deadline = Deadline.after(clock, NODE_TOPOLOGY.timeouts.probe.ms)
  for (let before: string | undefined; ; ) {
    try {
      const { status, said } = await ask(platform, url, deadline)
      if (status === 200) return undefined
      if (deadline.remaining() <= AGAIN_MS) return said
      before = said
    } catch (error) {
      // It has answered: that the time ran out within the last question says nothing else.
      if (before !== undefined && isKind(error, 'Timeout')) return before
      throw error
    }
    await sleep(clock, AGAIN_MS)
  }
}

async function ask(
  { transport }: Platform,
  url: string,
  deadline: Deadline,
): Promise<{ readonly status: number; readonly said: string }> {
  const response = await transport.request({
    method: 'GET',
    url: url.startsWith(UNIX) ? unixUrl(url.slice(UNIX.length), '/readyz') : new URL('/readyz', url),
    headers: {},
    deadline,
  })
  const chunks: Uint8Array[] = []
  for await (const chunk of response.body) chunks.push(chunk)
  return { status: response.status, said: Buffer.concat(chunks).toString('utf8') }
}
