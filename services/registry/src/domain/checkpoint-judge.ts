/** Whether the checkpoints that the journal holds are by the keys of this log, and of the tree as it was then. */
import { CairnError } from '@cairn/kernel'
import { openCheckpoint, type SignatureVerifier } from '@cairn/tlog'
import { equalBytes } from '@cairn/wire'
import type { CheckpointSigner } from './log-keys.ts'
import type { RegistryLog } from './registry-log.ts'

export type CheckpointKeys = Pick<CheckpointSigner, 'identity' | 'logKey' | 'cosignerKey'>

/** Why a checkpoint of exactly so many entries is not the one that was written; nothing if all are. */
export async function judgeCheckpoints(
  log: RegistryLog,
  { identity, logKey, cosignerKey }: CheckpointKeys,
  verifier: SignatureVerifier,
  size: number,
): Promise<string | undefined> {
  const trust = { origin: identity.origin, logKeys: [logKey], cosignerKeys: [cosignerKey] }
  try {
    for (const note of await log.notesOf(size)) {
      const { checkpoint } = openCheckpoint(note, trust, verifier)
      if (checkpoint.size !== size) return `the checkpoint after it is of ${checkpoint.size} entries.`
      if (!equalBytes(checkpoint.root, await log.rootAt(size)))
        return 'the tree up to it is not the one its checkpoint was signed for.'
    }
    return undefined
  } catch (error) {
    if (!(error instanceof CairnError) || !(error.kind === 'Integrity' || error.kind === 'Malformed')) throw error
    return `the checkpoint after it is damaged: ${error.message}`
  }
}

/**
 * The first stretch of entries whose checkpoint was signed for others: each batch has one, so the entry is named
 * exactly wherever it was alone in its batch. Nothing if every checkpoint that can be read holds.
 */
export async function firstUnsigned(
  log: RegistryLog,
  keys: CheckpointKeys,
  verifier: SignatureVerifier,
): Promise<{ readonly from: number; readonly to: number } | undefined> {
  let sound = log.minimumIndex
  for (let size = sound + 1; size <= log.size; size += 1) {
    const isSigned = (await log.notesOf(size).catch(() => [])).length > 0
    if (!isSigned) continue
    if ((await judgeCheckpoints(log, keys, verifier, size)) !== undefined) return { from: sound, to: size - 1 }
    sound = size
  }
  return undefined
}
