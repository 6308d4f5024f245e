import { toHex } from '@cairn/wire'
import type { RegistryParts } from './parts.ts'

/** One line: the version, who decides, and the key to know the log by. */
export function summaryOf(parts: RegistryParts): string {
  const { published, signer } = parts
  const { head, state } = published.value
  const { m, signers } = state.signerSet
  const key = toHex(signer.logKey.publicKey)
  const quorum = `quorum ${m} of ${signers.length} · log key ${key.slice(0, 4)}…${key.slice(-2)}`
  return [`version ${head.version}`, quorum, ...ownSigner(parts), ...reading(parts)].join(' · ')
}

/** Who signs, where this start made that up itself. */
function ownSigner({ ownSignerFile, isForgetful }: RegistryParts): string[] {
  if (ownSignerFile === undefined) return []
  if (!isForgetful) return [`made its own signer: ${ownSignerFile}`]
  return [
    'its signer is in memory, where nobody can sign with it: make keys with `cairn key new` and name a file of their signer set in registry.bootstrap.trust_roots_path',
  ]
}

function reading({ custody }: RegistryParts): string[] {
  return custody.problem === undefined ? [] : ['reads only']
}
