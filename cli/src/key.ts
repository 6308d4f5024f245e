/** `cairn key new [FILE]`: a signer of names. Standard output is its public half, as a signer set lists it. */
import { SystemRandom } from '@cairn/kernel'
import { parseSigner } from '@cairn/names'
import { addressOf, fromBase64url } from '@cairn/wire'
import type { Run } from './command.ts'
import { ownKeyPath, publicKeyOf, writeKeyFile } from './signer-key-file.ts'

const SEED_BYTES = 32
const ID_DIGITS = 12

export const create: Run = async ({ given, terminal }) => {
  const path = given.operands[0] ?? ownKeyPath(terminal.environment)
  const algo = given.text('algo') === 'ml-dsa-44' ? 'ml-dsa-44' : 'ed25519'
  const seed = new SystemRandom().bytes(SEED_BYTES)
  const key = publicKeyOf(algo, seed)
  const signer = parseSigner({ id: given.text('id') ?? idOf(key), algo, key })
  await writeKeyFile(path, { signer, seed })
  return {
    result: { ...signer, path },
    data: `${JSON.stringify(signer)}\n`,
    message: `signer ${signer.id} (${algo}), its private key in ${path}; the line above goes into a signer set`,
  }
}

/** For somebody who has no name to give: what the key itself is. */
function idOf(key: string): string {
  return `key-${addressOf(fromBase64url(key)).slice('b3:'.length, 'b3:'.length + ID_DIGITS)}`
}
