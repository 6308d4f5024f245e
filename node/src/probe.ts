import { Deadline, isKind, sleep } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'
import { unixUrl } from '@cairn/transport'
import { NODE_TOPOLOGY } from './topology.ts'

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
