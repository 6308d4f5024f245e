/** `cairn peers`: the nodes this one knows: those that hold copies for its storage, and those of the network for finding. */
import type { KnownPeer } from '@cairn/clients'
import { CairnError } from '@cairn/kernel'
import { spellCount } from '@cairn/wire'
import { type CommandContext, type CommandHandler, dataFlag } from './command.ts'
import { withIndex } from './service-client.ts'
import { withStorage } from './storage.ts'
import { escapeControls } from './terminal-text.ts'

interface StoragePeer {
  readonly id: string
  readonly state: string
  readonly why: string
}

export const peers: CommandHandler = async (context) => {
  const storage = await storagePeers(context)
  const known = await networkPeers(context)
  const connected = known.filter((peer) => peer.connected)
  const down = storage.filter(({ state }) => state !== 'up')
  const isAlone = known.length === 0 && storage.length === 0
  const outcome = {
    result: { peers: known, connected: connected.length, storage },
    data: [...storage.map(formatStoragePeer), ...known.map(formatPeer)]
      .map((line) => `${escapeControls(line)}\n`)
      .join(''),
  }
  if (down.length > 0) {
    const detail = `${down.length} of ${spellCount(storage.length, 'storage peer')} ${down.length === 1 ? 'is' : 'are'} not up: ${down.map(({ id }) => id).join(', ')}.`
    const error = new CairnError('StorageBusy', detail, { code: 'peer_down' })
    return { ...outcome, error, next: [`npx cairn repair${dataFlag(context.given)} --wait`] }
  }
  const network = `${spellCount(known.length, 'peer')} of the network, ${connected.length} connected`
  const holders = storage.length === 0 ? '' : `${spellCount(storage.length, 'storage peer')}, all up; `
  return {
    ...outcome,
    message: isAlone
      ? 'no peers: storage.peers names none, and neither index.dht.endpoints nor index.dht.kad with index.dht.bootstrap is set'
      : `${holders}${network}`,
    next: isAlone ? ['npx cairn config init', 'npx cairn config print --origin'] : [],
  }
}

/** Nodes that copies are kept on; none where the storage runs elsewhere or this token may not ask it. */
async function storagePeers(context: CommandContext): Promise<readonly StoragePeer[]> {
  return await unlessAbsent(async () => {
    const { places } = await withStorage(context, async (cairn, signal) => await cairn.durability({ signal }))
    return places.flatMap(({ id, kind, state, why }) => (kind === 'peer' ? [{ id, state, why }] : []))
  })
}

async function networkPeers(context: CommandContext): Promise<readonly KnownPeer[]> {
  return await withIndex(context, async ({ client, call }) => (await client.peers(call())).peers)
}

async function unlessAbsent<T>(ask: () => Promise<readonly T[]>): Promise<readonly T[]> {
  try {
    return await ask()
  } catch (error) {
    const kinds = ['Unauthorized', 'Forbidden', 'NotFound', 'Timeout']
    if (error instanceof CairnError && kinds.includes(error.kind)) return []
    throw error
  }
}

function formatStoragePeer({ id, state, why }: StoragePeer): string {
  return `${id}  storage  ${state}${why === '' ? '' : `  ${why}`}`
}

function formatPeer({ id, addresses, connected }: KnownPeer): string {
  return `${id}  ${connected ? 'connected' : 'known'}  ${addresses.join(' ') || 'no address known'}`
}
