import { CairnError, Deadline } from '@cairn/kernel'
import { type Platform, unixUrl } from '@cairn/platform'
import { NODE_TOPOLOGY } from './topology.ts'

const UNIX = 'unix:'

/** Asks a service the way a client would; "started" means that it answered. Throws with what it said if it is not ready. */
export async function probe({ transport, clock }: Platform, service: string, url: string): Promise<void> {
  // A certificate is made for the name clients use, which is not ours to know; such a port is not asked.
  if (url.startsWith('https:')) return
  const response = await transport.request({
    method: 'GET',
    url: url.startsWith(UNIX) ? unixUrl(url.slice(UNIX.length), '/readyz') : new URL('/readyz', url),
    headers: {},
    deadline: Deadline.after(clock, NODE_TOPOLOGY.timeouts.probe.ms),
  })
  const chunks: Uint8Array[] = []
  for await (const chunk of response.body) chunks.push(chunk)
  if (response.status === 200) return
  const said = Buffer.concat(chunks).toString('utf8')
  throw new CairnError('Internal', `${service} listens on ${url} but is not ready: ${said}`)
}
