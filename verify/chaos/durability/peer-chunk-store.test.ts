/** The `peer` chunk store held to the contract of all of them, against a whole service over the network. */
import { describe, test } from 'node:test'
import { Caller, copyClient } from '@cairn/clients'
import { Breakers } from '@cairn/kernel'
import { COMPLIANCE } from '../../../packages/store/test/chunk-compliance.ts'
import { ADMIN, TestService } from '../../../services/storage/test/harness.ts'
import { PeerChunkStore } from '../../../services/storage/test/peer-chunk-store.ts'
import { VirtualWorld } from '../../virtual/world.ts'

describe('peer', () => {
  for (const { name, run } of COMPLIANCE) {
    test(name, async () => {
      const world = new VirtualWorld(1)
      const options = { config: { ingress: { hosts: ['there'] } } }
      const service = await TestService.start(options, world, world.machine('there'))
      const here = world.machine('here')
      const platform = here.start()
      const breakers = new Breakers(platform)
      const grant = { scopes: ['storage:peer'] as const, bearer: async () => await Promise.resolve(ADMIN) }
      const base = new URL('http://there:7071/')
      const { transport } = platform
      const caller = new Caller({ runtime: platform, transport, base, target: 'there', breakers, grant })
      await world.run(
        run(
          new PeerChunkStore(
            platform.clock,
            copyClient(caller, () => ({})),
            5000,
          ),
        ),
      )
      breakers.close()
      here.kill()
      await service.stop()
    })
  }
})
