/**
 * Whether this directory may go on signing for its log. A backup has no keys, and what was restored from one may have
 * forgotten what the world has seen: were it to sign on, the log would have two histories.
 *
 *     restored      that it came from a backup: it only reads until somebody adopts it
 *     trust.json    whose signatures count, for a directory that has lost its keys
 */
import { CairnError, isKind } from '@cairn/kernel'
import { encodeTrust, parseTrust, type TrustFile } from '@cairn/names'
import { type Disk, type Platform, readSmallFile, replaceSmallFile } from '@cairn/platform'
import { type Checkpoint, openCheckpoint, type SignatureVerifier } from '@cairn/tlog'
import { equalBytes } from '@cairn/wire'
import { adoptRefused } from '../errors.ts'
import { type CheckpointSigner, hasLogKeys, type LogKeys } from './log-keys.ts'
import type { RegistryLog } from './registry-log.ts'

const MARK = 'restored'
const TRUST = 'trust.json'

/** Why a registry from a backup only reads. */
const RESTORED =
  'it was restored from a backup and might not know all it has signed. Show it the newest checkpoint anybody has seen: cairn registry adopt --checkpoint FILE'

export async function isRestored(disk: Disk, directory: string): Promise<boolean> {
  return (await readSmallFile(disk, `${directory}/${MARK}`)) !== undefined
}

export async function markRestored(disk: Disk, directory: string): Promise<void> {
  await replaceSmallFile(disk, `${directory}/${MARK}`, new TextEncoder().encode('see: cairn registry adopt\n'))
}

/** Writes down whose signatures count, unless that is there already. */
export async function keepTrust(platform: Platform, directory: string, signer: CheckpointSigner): Promise<void> {
  const path = `${directory}/${TRUST}`
  const bytes = encodeTrust({ ...signer.identity, logKeys: signer.keys })
  const there = await readSmallFile(platform.disk, path)
  if (there === undefined || !equalBytes(there, bytes)) await replaceSmallFile(platform.disk, path, bytes)
}

/** The public halves as they were last written down; nothing if they are not there. */
export async function keptKeys(disk: Disk, directory: string): Promise<LogKeys | undefined> {
  const bytes = await readSmallFile(disk, `${directory}/${TRUST}`)
  if (bytes === undefined) return undefined
  const { logKeys }: TrustFile = parseTrust(bytes)
  const [logKey, cosignerKey, quantumKey] = (['ed25519', 'ed25519-cosignature', 'ml-dsa-44-cosignature'] as const).map(
    (type) => logKeys.find((key) => key.type === type),
  )
  return logKey === undefined || cosignerKey === undefined ? undefined : { logKey, cosignerKey, quantumKey }
}

export interface Custody {
  /** Why nothing is written; nothing where this is no restored registry. */
  readonly problem: string | undefined
  /** Lets the next start write again, once this checkpoint shows that nothing is missing here. Gives its size. */
  readonly adopt: (note: Uint8Array) => Promise<number>
}

function openOwn(note: Uint8Array, { identity, logKey }: CheckpointSigner, verifier: SignatureVerifier): Checkpoint {
  try {
    return openCheckpoint(note, { origin: identity.origin, logKeys: [logKey], cosignerKeys: [] }, verifier).checkpoint
  } catch (cause) {
    if (!isKind(cause, 'Integrity')) throw cause
    const detail = `This is no checkpoint that ${identity.origin} has signed: ${cause.message}`
    throw new CairnError('Malformed', detail, { code: 'InvalidSig', status: 422, cause })
  }
}

export function custodyOf(
  platform: Pick<Platform, 'disk' | 'crypto'>,
  directory: string,
  { log, signer, isRestored }: { log: RegistryLog; signer: CheckpointSigner; isRestored: boolean },
): Custody {
  const { disk, crypto } = platform
  let state: 'own' | 'restored' | 'adopted' = isRestored ? 'restored' : 'own'
  return {
    get problem() {
      if (state === 'own') return undefined
      return state === 'restored' ? RESTORED : 'it was adopted; start the node again to let it write.'
    },
    adopt: async (note) => {
      if (state === 'own')
        throw adoptRefused('NotRestored', 'This registry was not restored: there is nothing to adopt.')
      const { size, root } = openOwn(note, signer, crypto)
      if (size > log.size)
        throw adoptRefused(
          'Behind',
          `The log had ${size} entries, and only ${log.size} are here: a newer backup is needed.`,
        )
      if (!equalBytes(root, await log.rootAt(size)))
        throw adoptRefused('Forked', `The first ${size} entries here are not those the checkpoint was signed for.`)
      // Without them the next start would take it for restored again.
      if (!(await hasLogKeys(platform, directory)))
        throw adoptRefused(
          'NoKeys',
          `The keys of the log are not here: put them into ${directory}/keys, from wherever they are kept, and ask again.`,
        )
      await disk.unlink(`${directory}/${MARK}`)
      await disk.syncDirectory(directory)
      state = 'adopted'
      return size
    },
  }
}
