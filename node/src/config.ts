import { ingressSection, listenKeys } from '@cairn/http'
import { byteSize, duration, logSection, section, setting } from '@cairn/platform'
import { z } from 'zod'
import { NODE_TOPOLOGY } from './topology.ts'

/** The first port of a node; its services listen on the ones after it. */
const PORT_BASE = 7070

/** Where a service that runs in another process is to be found. */
function remoteServiceSetting(name: string) {
  return setting(z.union([z.literal('none'), z.url({ protocol: /^https?$/ })]), {
    reload: 'restart',
    does: `Where this process finds the ${name} of another (default: where this configuration lets it listen); \`none\` if there is none.`,
  })
}

/** `[node]`: the process, not any one service. */
export const nodeSection = section({
  ...listenKeys(PORT_BASE),
  ingress: ingressSection(),
  log: logSection,
  neighbours: section({
    storage: remoteServiceSetting('storage'),
    registry: remoteServiceSetting('registry'),
    index: remoteServiceSetting('index'),
  }),
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
