/** `cairn peers`: whom the node knows in the network. */
import type { KnownPeer } from '@cairn/clients'
import { spellCount } from '@cairn/wire'
import type { Run } from './command.ts'
import { withIndex } from './index-service.ts'

export const peers: Run = async (context) =>
  await withIndex(context, async ({ client, call }) => {
    const { peers: known } = await client.peers(call())
    const connected = known.filter((peer) => peer.connected)
    const isAlone = known.length === 0
    return {
      result: { peers: known, connected: connected.length },
      data: known.map((peer) => `${sayPeer(peer)}\n`).join(''),
      message: isAlone
        ? 'no peers: the node asks nobody until index.dht.endpoints or index.dht.kad with index.dht.bootstrap is set'
        : `${spellCount(known.length, 'peer')}, ${connected.length} connected`,
      next: isAlone ? ['npx cairn config init', 'npx cairn config print --origin'] : [],
    }
  })

function sayPeer({ id, addresses, connected }: KnownPeer): string {
  return `${id}  ${connected ? 'connected' : 'known'}  ${addresses.join(' ') || 'no address known'}`
}
