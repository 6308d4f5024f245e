import { toHex } from '@cairn/wire'
import type { RegistryParts } from './parts.ts'

/** One line: the version, who decides, and the key to know the log by. */
export function summaryOf({ published, signer, ownSignerFile }: RegistryParts): string {
  const { head, state } = published.value
  const { m, signers } = state.signerSet
  const key = toHex(signer.logKey.publicKey)
  const own = ownSignerFile === undefined ? '' : ` · made its own signer: ${ownSignerFile}`
  return `version ${head.version} · quorum ${m} of ${signers.length} · log key ${key.slice(0, 4)}…${key.slice(-2)}${own}`
}
