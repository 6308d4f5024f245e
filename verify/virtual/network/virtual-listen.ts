/** The listener of a service in the simulator: give it to `runService` as `listen`. */

import type { runService } from '@cairn/http'
import { CairnError } from '@cairn/kernel'
import type { VirtualPlatform } from '../machine.ts'

type Listen = NonNullable<Parameters<typeof runService>[0]['listen']>

/** Ports of the machine; its own addresses and loopback are one. There are no Unix sockets and no TLS here. */
export function virtualListen(platform: VirtualPlatform): Listen {
  return async ({ address, listenerKind, ingress }) => {
    if (address.kind === 'unix') throw new CairnError('RejectPolicy', 'The simulator has no Unix sockets.')
    let openConnections = 0
    const stop = platform.listen(address.port, async ({ peerAddress, ...request }) => {
      openConnections += 1
      try {
        const peer = { address: peerAddress, kind: 'tcp' } as const
        const response = await ingress.handle({ ...request, peer, listenerKind, crowded: false })
        if (response.held === undefined || !(response.body instanceof Uint8Array)) return response
        // The buffer goes back to its pool once it is written.
        const body = response.body.slice()
        response.held[Symbol.dispose]()
        return { ...response, body }
      } finally {
        openConnections -= 1
      }
    })
    return await Promise.resolve({
      address,
      url: `http://${address.host}:${address.port}`,
      get openConnections() {
        return openConnections
      },
      reconfigure: () => undefined,
      renewTls: () => undefined,
      leave: async () => await Promise.resolve(),
      close: async () => await Promise.resolve(stop()),
    })
  }
}
