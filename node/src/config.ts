import { byteSize, duration, ingressSection, listenKeys, logSection, section, setting } from '@cairn/platform'
import type { z } from 'zod'
import { NODE_TOPOLOGY } from './topology.ts'

/** The first port of a node; its services listen on the ones after it. */
const PORT_BASE = 7070

/** `[node]`: the process, not any one service. */
export const nodeSection = section({
  ...listenKeys(PORT_BASE),
  ingress: ingressSection(),
  log: logSection,
  amnesia_bytes: setting(byteSize({ min: 1024 * 1024 }), {
    default: '1GiB',
    reload: 'restart',
    does: 'With --amnesia: how much memory the files of each service may take.',
  }),
  drain_deadline: setting(duration({ min: 1000, max: 5000 }), {
    default: '3s',
    reload: 'restart',
    does: `How long accepted work may take to finish on shutdown, ${NODE_TOPOLOGY.timeouts.drain_deadline.ms} ms unless set.`,
  }),
})

export type NodeConfig = z.output<typeof nodeSection>
